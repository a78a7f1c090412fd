package collectortest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"

	"github.com/userevents/userevents-go/internal/sys/systest"
)

func init() { writers["otlp"] = receiveOTLP }

// receiveOTLP is a server of OTLP over HTTP with the Collector's data model. It discards the log records, prints their number when the file
// begin exists, and ends. The file ready has its address.
func receiveOTLP(w *writer) error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	received := 0 // the requests come one after the other
	server := http.Server{ErrorLog: log.New(os.Stderr, "", 0), Handler: http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		body, err := io.ReadAll(in.Body)
		request := plogotlp.NewExportRequest()
		if err = errors.Join(err, request.UnmarshalProto(body)); err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
		received += request.Logs().LogRecordCount()
		answer, err := plogotlp.NewExportResponse().MarshalProto()
		if err == nil {
			out.Header().Set("Content-Type", "application/x-protobuf")
			_, _ = out.Write(answer)
		}
	})}
	go func() { _ = server.Serve(listener) }()
	if err := os.WriteFile(w.ready+".address", []byte(listener.Addr().String()), 0o600); err != nil {
		return err
	}
	if err := w.wait(); err != nil {
		return err
	}
	err = server.Close()
	fmt.Printf("{\"received\": %d}\n", received)
	return err
}

// otlpBatch is the number of log records in a request: the default of OpenTelemetry's SDKs.
const otlpBatch = 512

// encodeOTLP returns a request with n of the log records that the other contenders have.
func encodeOTLP(b *testing.B, n int) []byte {
	logs := plog.NewLogs()
	resource := logs.ResourceLogs().AppendEmpty()
	resource.Resource().Attributes().PutStr("service.name", "shop")
	resource.Resource().Attributes().PutInt("process.pid", int64(os.Getpid()))
	list := resource.ScopeLogs().AppendEmpty().LogRecords()
	for i := range n {
		r := list.AppendEmpty()
		at := pcommon.Timestamp(1_700_000_000_000_000_000 + uint64(i))
		r.SetTimestamp(at)
		r.SetObservedTimestamp(at)
		r.SetSeverityNumber(plog.SeverityNumberInfo)
		r.SetSeverityText("INFO")
		r.Body().SetStr("request served")
		attributes := r.Attributes()
		attributes.PutStr("method", "GET")
		attributes.PutStr("route", "/users/{id}")
		attributes.PutInt("status", 200)
		attributes.PutDouble("latency_ms", 1.5)
		attributes.PutInt("n", int64(i))
	}
	body, err := plogotlp.NewExportRequestFromLogs(logs).MarshalProto()
	require.NoError(b, err)
	return body
}

// serveOTLP measures the server, with one client and its connection.
func serveOTLP(b *testing.B) {
	server := launchAnyhow(b, "otlp", 0, 0, nil)
	address, err := os.ReadFile(filepath.Join(filepath.Dir(server.begin), "ready.address"))
	require.NoError(b, err)
	full, rest := encodeOTLP(b, otlpBatch), encodeOTLP(b, b.N%otlpBatch)
	post := func(body []byte) {
		response, err := http.Post("http://"+string(address)+"/v1/logs", "application/x-protobuf", bytes.NewReader(body))
		require.NoError(b, err)
		_, err = io.Copy(io.Discard, response.Body)
		require.NoError(b, errors.Join(err, response.Body.Close()))
		require.Equal(b, http.StatusOK, response.StatusCode)
	}
	before, err := systest.ProcessTime(server.cmd.Process.Pid)
	require.NoError(b, err)
	for range b.N / otlpBatch {
		post(full)
	}
	post(rest)
	after, err := systest.ProcessTime(server.cmd.Process.Pid)
	require.NoError(b, err)
	server.start()
	require.Equal(b, b.N, server.end()["received"])
	b.ReportMetric(float64(after-before)/float64(b.N), "ns/op")
}
