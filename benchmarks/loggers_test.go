package benchmarks

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"testing"

	phuslu "github.com/phuslu/log"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutlog"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/protobuf/proto"
)

// logger is a way to write the record to a Writer, one line for each. on says whether its
// level is one that is written.
type logger struct {
	name string
	open func(tb testing.TB, w io.Writer, s scenario, on bool) call
}

var loggers = []logger{
	{"slog-json", func(_ testing.TB, w io.Writer, s scenario, on bool) call {
		return call{log: slogCall(slog.NewJSONHandler(w, slogOptions(on)), s)}
	}},
	{"slog-text", func(_ testing.TB, w io.Writer, s scenario, on bool) call {
		return call{log: slogCall(slog.NewTextHandler(w, slogOptions(on)), s)}
	}},
	{"zap", openZap},
	{"zerolog", openZerolog},
	{"phuslu", openPhuslu},
	{"otelslog-stdoutlog", openStdoutlog},
}

func slogOptions(on bool) *slog.HandlerOptions {
	if on {
		return nil
	}
	return &slog.HandlerOptions{Level: slog.LevelWarn}
}

// openZap has what zap.NewProductionConfig sets up, without its sampling, which would drop most of the records, and without
// the caller, which the other records do not have.
func openZap(_ testing.TB, w io.Writer, s scenario, on bool) call {
	level := zap.WarnLevel
	if on {
		level = zap.InfoLevel
	}
	l := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(zapcore.AddSync(w)), level))
	if s.bound {
		l = l.With(zap.String("service", service), zap.Int("shard", shard))
	}
	switch s.attrs {
	case 0:
		return call{log: func() { l.Info(message) }}
	case 5:
		return call{log: func() {
			l.Info(message, zap.String("method", method), zap.String("route", route), zap.Int("status", status),
				zap.Duration("latency", latency), zap.Bool("cached", cached))
		}}
	}
	return call{log: func() {
		l.Info(message, zap.String("method", method), zap.String("route", route), zap.Int("status", status),
			zap.Duration("latency", latency), zap.Bool("cached", cached),
			zap.String("host", host), zap.Int("size", size), zap.Int("attempt", attempt),
			zap.Float64("load", load), zap.Bool("secure", secure))
	}}
}

func openZerolog(_ testing.TB, w io.Writer, s scenario, on bool) call {
	level := zerolog.WarnLevel
	if on {
		level = zerolog.InfoLevel
	}
	c := zerolog.New(w).Level(level).With().Timestamp()
	if s.bound {
		c = c.Str("service", service).Int("shard", shard)
	}
	l := c.Logger()
	switch s.attrs {
	case 0:
		return call{log: func() { l.Info().Msg(message) }}
	case 5:
		return call{log: func() {
			l.Info().Str("method", method).Str("route", route).Int("status", status).
				Dur("latency", latency).Bool("cached", cached).Msg(message)
		}}
	}
	return call{log: func() {
		l.Info().Str("method", method).Str("route", route).Int("status", status).
			Dur("latency", latency).Bool("cached", cached).
			Str("host", host).Int("size", size).Int("attempt", attempt).
			Float64("load", load).Bool("secure", secure).Msg(message)
	}}
}

func openPhuslu(_ testing.TB, w io.Writer, s scenario, on bool) call {
	l := phuslu.Logger{Level: phuslu.WarnLevel, Writer: phuslu.IOWriter{Writer: w}}
	if on {
		l.Level = phuslu.InfoLevel
	}
	if s.bound {
		l.Context = phuslu.NewContext(nil).Str("service", service).Int("shard", shard).Value()
	}
	switch s.attrs {
	case 0:
		return call{log: func() { l.Info().Msg(message) }}
	case 5:
		return call{log: func() {
			l.Info().Str("method", method).Str("route", route).Int("status", status).
				Dur("latency", latency).Bool("cached", cached).Msg(message)
		}}
	}
	return call{log: func() {
		l.Info().Str("method", method).Str("route", route).Int("status", status).
			Dur("latency", latency).Bool("cached", cached).
			Str("host", host).Int("size", size).Int("attempt", attempt).
			Float64("load", load).Bool("secure", secure).Msg(message)
	}}
}

// TestLoggers: every logger writes the whole record, and nothing when disabled.
func TestLoggers(t *testing.T) {
	for _, l := range loggers {
		for _, s := range scenarios {
			t.Run(l.name+"/"+s.name, func(t *testing.T) {
				var out bytes.Buffer
				off := l.open(t, &out, s, false)
				off.log()
				off.deliver()
				assert.Empty(t, out.String())
				c := l.open(t, &out, s, true)
				for n := 1; n <= 2; n++ {
					c.log()
					c.deliver()
					assert.Equal(t, n, bytes.Count(out.Bytes(), []byte("\n")))
				}
				for _, part := range s.parts() {
					assert.Contains(t, out.String(), part)
				}
			})
		}
	}
}

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
