package ueventslog_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
)

// BenchmarkKernel measures the same calls on the machine's kernel, with and without ftrace
// attached, by encoding, and those of the SDK alone.
func BenchmarkKernel(b *testing.B) {
	fs := kerneltest.Require(b)
	b.Run("SDK/Emit", func(b *testing.B) {
		ctx, r := inSpan(b.Context()), request()
		logger := sdklog.NewLoggerProvider(sdklog.WithProcessor(always{}), sdklog.WithResource(res)).Logger("x")
		for range b.N {
			logger.Emit(ctx, r)
		}
	})
	for _, c := range []struct {
		name  string
		event string
		opts  []ueventslog.Option
	}{
		{"typed", "_log_info", nil},
		{"declared", "_log_http_request", []ueventslog.Option{ueventslog.WithDeclarations(httpRequest)}},
		{"commonschema", "_L4K1", []ueventslog.Option{ueventslog.WithCommonSchema4()}},
	} {
		b.Run(c.name, func(b *testing.B) {
			name := uniqueName()
			p, err := ueventslog.NewProcessor(name, c.opts...)
			require.NoError(b, err)
			provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(p), sdklog.WithResource(res))
			defer func() { require.NoError(b, provider.Shutdown(b.Context())) }()
			own, err := ueventslog.NewLoggerProvider(name, append(c.opts, ueventslog.WithResource(res))...)
			require.NoError(b, err)
			defer func() { require.NoError(b, own.Shutdown(b.Context())) }()
			b.Run("off", func(b *testing.B) { benchmarkCalls(b, own, provider, p) })
			i := kerneltest.NewInstance(b, fs, 64)
			i.Attach(name + c.event)
			b.Run("ftrace", func(b *testing.B) { benchmarkCalls(b, own, provider, p) })
			i.Detach()
		})
	}
}

// TestManyAttributes: the processor time to find duplicate keys grows with the number of attributes, and not with its
// square.
func TestManyAttributes(t *testing.T) {
	t.Setenv(envCount, "-1")
	own, tool := tracedOwn(t)
	testscale.Linear(t, 500, func(n int) func() {
		tool.Records()
		r := record(log.SeverityInfo, "m")
		for i := range n {
			r.AddAttributes(attribute.Int(strconv.Itoa(i), i))
		}
		return func() { own.Logger("x").Emit(t.Context(), r) }
	})
	require.Len(t, tool.Records(), 1)
	own.Logger("x").Emit(t.Context(), record(log.SeverityInfo, "m", attribute.Int("a", 1), attribute.Int("a", 2)))
	assert.Equal(t, `{"a":2}`, fields(t, tool)["attributes"], "nothing is left of the records before")
}
