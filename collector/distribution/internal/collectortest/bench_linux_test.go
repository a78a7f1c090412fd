package collectortest

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/sys/systest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
)

// onlyLogs is a pipeline without processors, so that the figures are those of the receiver.
var onlyLogs = []string{"logs"}

// Names of values that the benchmarks report.
const (
	lostUnit, droppedUnit = "lost-records", "dropped-records"
	residentUnit          = "resident-bytes"
	mostResidentUnit      = "max-resident-bytes"
)

// measure runs a benchmark, but not the trial with an N of 1 that package testing begins with: each run has a Collector of its own.
func measure(b *testing.B, name string, f func(b *testing.B)) {
	once := flag.Lookup("test.benchtime").Value.String() == "1x"
	b.Run(name, func(b *testing.B) {
		if b.N > 1 || once {
			f(b)
		}
	})
}

// BenchmarkThroughput moves log records with five attributes to a sink that counts and discards them: from a program that writes user_events
// as fast as it can, and the same records from a file with lines of JSON. It reports the processor time of the Collector
// for each record that arrived, the kernel's work for it included; and that of a server for the same records in requests of OTLP.
func BenchmarkThroughput(b *testing.B) {
	dir := kerneltest.RequireTool(b, "taskset")
	measure(b, "user_events", func(b *testing.B) {
		w := launchWriter(b, "slog", 0, b.N, 0)
		c := start(b, settings{receivers: everything, pipelines: onlyLogs})
		c.attached(dir)
		arrived := c.throughput(b, func() {
			w.start()
			require.Equal(b, b.N, w.end()["collected_slog_info"])
		})
		lost, dropped := c.losses()
		require.Equal(b, b.N, arrived+lost+dropped, "written = arrived + lost + dropped")
		b.ReportMetric(float64(lost), lostUnit)
		b.ReportMetric(float64(dropped), droppedUnit)
		c.end()
	})
	withoutKernel(b)
}

// withoutKernel measures what needs no user_events.
func withoutKernel(b *testing.B) {
	measure(b, "otlp", serveOTLP)
	measure(b, "file_log-json", func(b *testing.B) { readFile(b, "{type: json_parser}") })
	measure(b, "file_log-json-time-severity", func(b *testing.B) { readFile(b, wholeParser) })
}

// BenchmarkNative is the part of BenchmarkThroughput that needs no user_events, on this machine: its processor is the one that a guest
// emulates.
func BenchmarkNative(b *testing.B) {
	if testscale.Guest() {
		b.Skip("not on this kernel: a guest has BenchmarkThroughput")
	}
	withoutKernel(b)
}

// wholeParser also sets the time and the severity of a record, as user_events has them.
const wholeParser = `{type: json_parser, timestamp: {parse_from: attributes.time, layout_type: gotime, layout: "2006-01-02T15:04:05.999999999Z07:00"}, severity: {parse_from: attributes.level}}`

// readFile measures how file_log reads a file of slog's JSON.
func readFile(b *testing.B, operator string) {
	dir := b.TempDir()
	path := filepath.Join(dir, "new")
	f, err := os.Create(path)
	require.NoError(b, err)
	logger := slog.New(slog.NewJSONHandler(f, nil))
	for n := range b.N {
		request(logger, n)
	}
	require.NoError(b, f.Close())
	c := start(b, settings{
		receivers: fmt.Sprintf("  file_log:\n    include: [%s]\n    start_at: beginning\n    operators:\n      - %s", filepath.Join(dir, "*.log"), operator),
		pipelines: onlyLogs,
	})
	arrived := c.throughput(b, func() { require.NoError(b, os.Rename(path, filepath.Join(dir, "app.log"))) })
	require.Equal(b, b.N, arrived)
	c.end()
}

// throughput calls begin, which makes at most b.N log records arrive, and reports the processor time of each one that did, and the most
// memory.
func (c *collector) throughput(b *testing.B, begin func()) (arrived int) {
	const pause = 5 * time.Second
	before := c.processorTime()
	begin()
	since := time.Now()
	c.until("all records are counted", func() bool {
		if n := c.received().Logs; n > arrived {
			arrived, since = n, time.Now()
		}
		if arrived == b.N || time.Since(since) < pause { //nolint:forbidigo // reading the losses takes processor time, so it is done seldom
			return arrived == b.N
		}
		since = time.Now()
		lost, dropped := c.losses()
		return arrived+lost+dropped == b.N
	})
	b.ReportMetric(float64(c.processorTime()-before)/float64(arrived), "ns/op")
	_, most := c.memory()
	b.ReportMetric(most, mostResidentUnit)
	return arrived
}

// losses returns the numbers of records that the kernel has lost, and of those that the receiver has dropped.
func (c *collector) losses() (lost, dropped int) {
	own := c.scrape()
	return own.lost(""), own.dropped("")
}

// BenchmarkIdle reports the processor time that the Collector takes in a second in which no program writes, and its memory.
func BenchmarkIdle(b *testing.B) {
	dir := kerneltest.RequireTool(b, "taskset")
	for _, events := range []int{1, 100} {
		measure(b, fmt.Sprintf("user_events=%d", events), func(b *testing.B) {
			for n := range events {
				name := fmt.Sprintf("collected_idle_%d", n)
				require.NoError(b, dir.Create(tracepoint.MustParse(name+" u32 status; __data_loc char[] route")))
				// The kernel lets go of it a moment after the Collector has.
				b.Cleanup(func() {
					testscale.Eventually(b, func() bool { return dir.Remove(name) == nil }, "the kernel does not remove %s", name)
				})
			}
			c := start(b, settings{receivers: everything, pipelines: onlyLogs})
			c.attached(dir)
			c.idle(b)
		})
	}
	measure(b, "file_log", func(b *testing.B) {
		file := filepath.Join(b.TempDir(), "app.log")
		require.NoError(b, os.WriteFile(file, nil, 0o600))
		start(b, settings{receivers: fmt.Sprintf("  file_log: {include: [%s]}", file), pipelines: onlyLogs}).idle(b)
	})
}

func (c *collector) idle(b *testing.B) {
	time.Sleep(5 * time.Second) //nolint:forbidigo // what its start leaves behind; only the figure depends on it
	before := c.processorTime()
	time.Sleep(time.Duration(b.N) * time.Second) //nolint:forbidigo // what is measured
	b.ReportMetric(float64(c.processorTime()-before)/float64(b.N), "ns/op")
	now, _ := c.memory()
	b.ReportMetric(now, residentUnit)
	c.end()
}

// BenchmarkLatency reports how long records take from the program to the sink with the receiver's defaults, while the program writes
// some hundred each second.
func BenchmarkLatency(b *testing.B) {
	dir := kerneltest.RequireTool(b, "taskset")
	measure(b, "defaults", func(b *testing.B) { latency(b, dir) })
}

func latency(b *testing.B, dir *tracefs.Dir) {
	w := launchWriter(b, "slog", 0, b.N, 500)
	c := start(b, settings{receivers: everything, pipelines: onlyLogs, sink: "    delays: true"})
	c.attached(dir)
	w.start()
	w.end()
	c.until("all records have arrived", func() bool { return c.received().Logs == b.N })
	delays := c.received().Delays
	for _, q := range []struct {
		unit  string
		share float64
	}{{"ns/op", 0.5}, {"p99-ns", 0.99}, {"max-ns", 1}} {
		b.ReportMetric(float64(quantile(delays, int(float64(b.N)*q.share))), q.unit)
	}
	c.end()
}

// quantile returns the time that n of the delays, at least one, do not exceed.
func quantile(delays map[int64]int, n int) time.Duration {
	for _, ms := range slices.Sorted(maps.Keys(delays)) {
		if n -= delays[ms]; n <= 0 {
			return time.Duration(ms+1) * time.Millisecond
		}
	}
	return 0
}

// BenchmarkStall stalls the sink while a program writes 10,000 records a second, and then lets it go on. It reports what was lost, and the most
// memory.
func BenchmarkStall(b *testing.B) {
	dir := kerneltest.RequireTool(b, "taskset")
	measure(b, "rate=10000", func(b *testing.B) {
		w := launchWriter(b, "slog", 0, b.N, 10_000)
		c := start(b, settings{receivers: everything, pipelines: onlyLogs})
		c.attached(dir)
		require.NoError(b, os.WriteFile(c.stall, nil, 0o600))
		began := time.Now()
		w.start()
		require.Equal(b, b.N, w.end()["collected_slog_info"])
		b.ReportMetric(time.Since(began).Seconds(), "stalled-s") //nolint:forbidigo // a figure
		require.Zero(b, c.received().Logs)
		require.NoError(b, os.Remove(c.stall))
		var lost, dropped int
		c.until("all records are counted", func() bool {
			lost, dropped = c.losses()
			return c.received().Logs+lost+dropped == b.N
		})
		b.ReportMetric(float64(lost), lostUnit)
		b.ReportMetric(float64(dropped), droppedUnit)
		_, most := c.memory()
		b.ReportMetric(most, mostResidentUnit)
		c.end()
	})
}

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
