package ueventslog_test

import (
	"testing"

	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
)

// BenchmarkDisabled measures a log call while no tool is attached.
func BenchmarkDisabled(b *testing.B) {
	rig := newRig(b)
	benchmarkCalls(b, rig.newProvider(), rig.Processor)
}

// benchmarkCalls measures a logger of the SDK's, and the same behind a gate.
func benchmarkCalls(b *testing.B, provider log.LoggerProvider, p *ueventslog.Processor) {
	ctx, r, made := inSpan(b.Context()), request(), requestMade(b.Context())
	params := log.EnabledParameters{Severity: log.SeverityInfo}
	behind, gated := provider.Logger("x"), ueventslog.NewLoggerProvider(provider, p).Logger("x")
	for _, c := range []struct {
		name string
		call func()
	}{
		{"Enabled/gated", func() { gated.Enabled(ctx, params) }},
		{"Enabled/SDK", func() { behind.Enabled(ctx, params) }},
		{"Enabled/processor", func() { p.Enabled(ctx, sdklog.EnabledParameters{Severity: log.SeverityInfo}) }},
		{"Emit/gated", func() { gated.Emit(ctx, r) }},
		{"Emit/SDK", func() { behind.Emit(ctx, r) }},
		{"OnEmit", func() { _ = p.OnEmit(ctx, made) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			c.call()
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				c.call()
			}
		})
	}
}
