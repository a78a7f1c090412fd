package autoexport_test

import (
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSetupEnvironment: the environment stays the same while Setup makes the exporters of lists, and afterwards. Each exporter reads a
// certificate from a pipe: the goroutine that writes it sees the environment of that moment.
func TestSetupEnvironment(t *testing.T) {
	p := newProgram(t, "user_events,otlp")
	server := httptest.NewTLSServer(http.HandlerFunc(p.collect))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	pipes := t.TempDir()
	for _, signal := range signals {
		require.NoError(t, syscall.Mkfifo(pipes+"/"+signal, 0o600))
		t.Setenv("OTEL_EXPORTER_OTLP_"+signal+"_CERTIFICATE", pipes+"/"+signal)
	}
	before := os.Environ()
	var writers sync.WaitGroup
	for _, signal := range signals {
		writers.Go(func() {
			pipe, err := os.OpenFile(pipes+"/"+signal, os.O_WRONLY, 0) // returns when the exporter reads
			assert.NoError(t, err)
			assert.True(t, slices.Equal(before, os.Environ()), signal)
			_, err = pipe.Write(certificate)
			assert.NoError(t, err)
			assert.NoError(t, pipe.Close())
		})
	}
	_, otlp, err := p.run(shop)
	require.NoError(t, err)
	assert.Equal(t, otlpOfShop, otlp)
	writers.Wait()
	assert.True(t, slices.Equal(before, os.Environ()))
}

// TestSetupPrometheus: an exporter in a list answers Prometheus until the shutdown. Without an address for it, the others work.
func TestSetupPrometheus(t *testing.T) {
	p := newProgram(t, "user_events")
	pid := os.Getpid()
	host := fmt.Sprintf("127.%d.%d.%d", 1+pid>>16, pid>>8&0xff, pid&0xff) // of this process only
	t.Setenv("OTEL_METRICS_EXPORTER", "user_events,prometheus")
	t.Setenv("OTEL_EXPORTER_PROMETHEUS_HOST", host)
	listen := func() net.Listener {
		listener, err := net.Listen("tcp", host+":9464")
		require.NoError(t, err)
		return listener
	}
	other := listen()
	events, _, err := p.run(shop)
	assert.ErrorContains(t, err, `autoexport: OTEL_METRICS_EXPORTER="user_events,prometheus": exporter "prometheus": `)
	assert.ErrorIs(t, err, syscall.EADDRINUSE)
	assert.Equal(t, eventsOfShop, events)
	require.NoError(t, other.Close())

	shutdown, err := p.setup(shop)
	require.NoError(t, err)
	p.work()
	response, err := http.Get("http://" + host + ":9464/metrics")
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	assert.Contains(t, string(body), "\nn_total{")
	require.NoError(t, shutdown(t.Context()))
	require.NoError(t, listen().Close())
}
