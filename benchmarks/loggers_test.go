package benchmarks

import (
	"bytes"
	"io"
	"log/slog"
	"testing"

	phuslu "github.com/phuslu/log"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
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
