package benchmarks

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutlog"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/protobuf/proto"
)

// warnings lets records through from a severity on: the processor that OpenTelemetry's
// documentation puts in front of an exporter to set a level.
type warnings struct{ sdklog.Processor }

func (p warnings) Enabled(_ context.Context, e sdklog.EnabledParameters) bool {
	return e.Severity >= log.SeverityWarn
}

// bridged makes the record with slog, through OpenTelemetry's bridge, to a processor.
func bridged(tb testing.TB, p sdklog.Processor, s scenario, on bool) call {
	if !on {
		p = warnings{p}
	}
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(p))
	tb.Cleanup(func() { require.NoError(tb, provider.Shutdown(context.Background())) })
	return call{log: slogCall(otelslog.NewHandler("benchmarks", otelslog.WithLoggerProvider(provider)), s)}
}

// batchedLogs is what the SDK's documentation recommends in front of an exporter.
func batchedLogs(tb testing.TB, e sdklog.Exporter, s scenario, on bool) call {
	p := sdklog.NewBatchProcessor(e)
	c := bridged(tb, p, s, on)
	c.flush = func() { require.NoError(tb, p.ForceFlush(context.Background())) }
	return c
}

func openStdoutlog(tb testing.TB, w io.Writer, s scenario, on bool) call {
	e, err := stdoutlog.New(stdoutlog.WithWriter(w))
	require.NoError(tb, err)
	return batchedLogs(tb, e, s, on)
}

func openOTLP(tb testing.TB, url string, s scenario, on bool) call {
	e, err := otlploghttp.New(context.Background(), otlploghttp.WithEndpointURL(url+"/v1/logs"))
	require.NoError(tb, err)
	return batchedLogs(tb, e, s, on)
}

// collected are the contenders that send to a collector: without its part of the work, and with it.
var collected = []contender{
	{
		name: "otelslog-otlp", scenarios: scenarios,
		off: func(tb testing.TB, s scenario) call { return openOTLP(tb, startCollector(tb).url, s, false) },
		on:  func(tb testing.TB, s scenario) call { return openOTLP(tb, startCollector(tb).url, s, true) },
	},
	{
		name: "otelslog-otlp-collector", scenarios: scenarios,
		on: func(tb testing.TB, s scenario) call {
			collector := startCollector(tb)
			c := openOTLP(tb, collector.url, s, true)
			c.collector = collector
			return c
		},
	},
}

// TestOTLPLogs: every record arrives at the collector, whole, and none when off.
func TestOTLPLogs(t *testing.T) {
	for _, s := range scenarios {
		to := newSink(t)
		off := openOTLP(t, to.URL, s, false)
		off.log()
		off.flush()
		c := openOTLP(t, to.URL, s, true)
		for range 3 {
			c.log()
		}
		c.flush()
		require.Len(t, to.bodies, 1)
		var request logs.ExportLogsServiceRequest
		require.NoError(t, proto.Unmarshal(to.bodies[0], &request))
		records := request.GetResourceLogs()[0].GetScopeLogs()[0].GetLogRecords()
		require.Len(t, records, 3)
		for _, r := range records {
			text := r.String()
			for _, part := range s.parts() {
				assert.Contains(t, text, part)
			}
		}
	}
}
