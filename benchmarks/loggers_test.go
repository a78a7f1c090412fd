package benchmarks

import (
	"bytes"
	"io"
	"log/slog"
	"testing"

	phuslu "github.com/phuslu/log"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logger is a way to write the record to a Writer, set up as its documentation recommends for
// production. on says whether the level is one that is written.
type logger struct {
	name string
	call func(w io.Writer, on bool) func()
}

var loggers = []logger{
	{"slog-json", func(w io.Writer, on bool) func() { return slogCall(slog.NewJSONHandler(w, slogOptions(on))) }},
	{"slog-text", func(w io.Writer, on bool) func() { return slogCall(slog.NewTextHandler(w, slogOptions(on))) }},
	{"zap", zapCall},
	{"zerolog", zerologCall},
	{"phuslu", phusluCall},
}

func slogOptions(on bool) *slog.HandlerOptions {
	if on {
		return nil
	}
	return &slog.HandlerOptions{Level: slog.LevelWarn}
}

func zapCall(w io.Writer, on bool) func() {
	level := zap.WarnLevel
	if on {
		level = zap.InfoLevel
	}
	l := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(w), level))
	return func() {
		l.Info(message, zap.String("method", method), zap.String("route", route), zap.Int("status", status),
			zap.Duration("latency", latency), zap.Bool("cached", cached))
	}
}

func zerologCall(w io.Writer, on bool) func() {
	level := zerolog.WarnLevel
	if on {
		level = zerolog.InfoLevel
	}
	l := zerolog.New(w).Level(level).With().Timestamp().Logger()
	return func() {
		l.Info().Str("method", method).Str("route", route).Int("status", status).Dur("latency", latency).Bool("cached", cached).Msg(message)
	}
}

func phusluCall(w io.Writer, on bool) func() {
	l := phuslu.Logger{Level: phuslu.WarnLevel, Writer: phuslu.IOWriter{Writer: w}}
	if on {
		l.Level = phuslu.InfoLevel
	}
	return func() {
		l.Info().Str("method", method).Str("route", route).Int("status", status).Dur("latency", latency).Bool("cached", cached).Msg(message)
	}
}

// TestLoggers: everybody writes the whole record, and nothing when off.
func TestLoggers(t *testing.T) {
	for _, l := range loggers {
		var out bytes.Buffer
		l.call(&out, false)()
		assert.Empty(t, out.String(), l.name)
		l.call(&out, true)()
		require.NotEmpty(t, out.String(), l.name)
		assert.Equal(t, 1, bytes.Count(out.Bytes(), []byte("\n")), l.name)
		for _, part := range []string{message, method, route, "200", "false", "method", "route", "status", "latency", "cached"} {
			assert.Contains(t, out.String(), part, l.name)
		}
	}
}
