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
	collector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
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

func openStdoutlog(tb testing.TB, w io.Writer, s scenario, on bool) call {
	exporter, err := stdoutlog.New(stdoutlog.WithWriter(w))
	require.NoError(tb, err)
	return bridged(tb, sdklog.NewSimpleProcessor(exporter), s, on)
}

// openOTLP sends the record to a collector, with others.
func openOTLP(tb testing.TB, to *sink, s scenario, on bool) call {
	exporter, err := otlploghttp.New(tb.Context(), otlploghttp.WithEndpointURL(to.URL+"/v1/logs"))
	require.NoError(tb, err)
	p := sdklog.NewBatchProcessor(exporter)
	c := bridged(tb, p, s, on)
	c.flush = func() { require.NoError(tb, p.ForceFlush(tb.Context())) }
	return c
}

// collected is the contender that sends to a collector.
var collected = contender{
	name: "otelslog-otlp", scenarios: scenarios,
	off: func(tb testing.TB, s scenario) call {
		c := openOTLP(tb, newSink(tb, false), s, false)
		c.flush = nil // nothing to wait for
		return c
	},
	on: func(tb testing.TB, s scenario) call { return openOTLP(tb, newSink(tb, false), s, true) },
}

// TestOTLPLogs: every record arrives at the collector, whole, and none when off.
func TestOTLPLogs(t *testing.T) {
	for _, s := range scenarios {
		to := newSink(t, true)
		off := openOTLP(t, to, s, false)
		off.log()
		off.flush()
		c := openOTLP(t, to, s, true)
		for range 3 {
			c.log()
		}
		c.flush()
		require.Len(t, to.bodies, 1)
		var request collector.ExportLogsServiceRequest
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
