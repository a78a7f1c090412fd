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
	benchmarkCalls(b, rig.newOwn(b), rig.newProvider(), rig.Processor)
}

// benchmarkCalls measures a logger of a provider of this package, and one of the SDK with a processor.
func benchmarkCalls(b *testing.B, provider *ueventslog.LoggerProvider, sdk log.LoggerProvider, p *ueventslog.Processor) {
	ctx, r, made := inSpan(b.Context()), request(), requestMade(b.Context())
	params := log.EnabledParameters{Severity: log.SeverityInfo}
	behind, own := sdk.Logger("x"), provider.Logger("x")
	for _, c := range []struct {
		name string
		call func()
	}{
		{"Logger/own", func() { provider.Logger("x") }},
		{"Enabled/own", func() { own.Enabled(ctx, params) }},
		{"Enabled/SDK", func() { behind.Enabled(ctx, params) }},
		{"Enabled/processor", func() { p.Enabled(ctx, sdklog.EnabledParameters{Severity: log.SeverityInfo}) }},
		{"Emit/own", func() { own.Emit(ctx, r) }},
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
