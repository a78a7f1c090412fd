package ueventslog_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/internal/testscale"
)

// request returns the record that allocation tests and benchmarks emit: five attributes, as many as nearly all have
// at most.
func request() log.Record {
	r := event(log.SeverityInfo, "http.request",
		attribute.String("http.request.method", "GET"),
		attribute.String("http.route", "/users/{id}"),
		attribute.Int("http.response.status_code", 200),
		attribute.Float64("load", 0.25),
		attribute.Bool("cached", false),
	)
	r.SetBody(attribute.StringValue("request served"))
	return r
}

// last is a processor that keeps a copy of the last record.
type last struct {
	always
	record sdklog.Record
}

func (l *last) OnEmit(_ context.Context, r *sdklog.Record) error {
	l.record = r.Clone()
	return nil
}

// requestMade returns the record as the SDK makes it.
func requestMade(ctx context.Context) *sdklog.Record {
	l := new(last)
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(l), sdklog.WithResource(res))
	provider.Logger("my/package", log.WithInstrumentationVersion("v1.2.3")).Emit(ctx, request())
	return &l.record
}

func TestAllocations(t *testing.T) {
	testscale.CountAllocations(t)
	ctx := inSpan(t.Context())
	r, made := request(), requestMade(ctx)
	params := log.EnabledParameters{Severity: log.SeverityInfo}
	for name, opts := range map[string][]ueventslog.Option{
		"typed":         {ueventslog.WithResourceAttributes("host.name")},
		"declared":      {ueventslog.WithDeclarations(httpRequest)},
		"common schema": {ueventslog.WithCommonSchema4(), ueventslog.WithResourceAttributes("host.name")},
	} {
		t.Run(name, func(t *testing.T) {
			rig := newRig(t, opts...)
			provider := rig.newOwn(t, opts...)
			own := provider.Logger("x")
			behind := rig.newProvider().Logger("x") // without a witness
			count := func(what string, call func()) {
				assert.Zero(t, testing.AllocsPerRun(100, call), what)
			}
			count("own Logger", func() { provider.Logger("x") })
			count("own Enabled", func() { own.Enabled(ctx, params) })
			count("own Emit", func() { own.Emit(ctx, r) })
			count("Enabled", func() { behind.Enabled(ctx, params) })
			count("OnEmit", func() { _ = rig.OnEmit(ctx, made) })

			tr := rig.attach(t, "app_*")
			count("own Enabled, traced", func() { own.Enabled(ctx, params) })
			count("own Emit, traced", func() { own.Emit(ctx, r) })
			count("OnEmit, traced", func() { _ = rig.OnEmit(ctx, made) })
			require.NotEmpty(t, tr.Records())
		})
	}
}

// TestDisabledIsOneBranch: a logger reads where its group is, the address of the enable word and the word, and branches. Every
// function has a branch before, about its stack.
func TestDisabledIsOneBranch(t *testing.T) {
	before := testscale.Disassemble(t)
	for _, method := range []string{"Emit", "Enabled"} {
		list := before(`ueventslog\.\(\*logger\)\.`+method, 2)
		t.Logf("%s:\n  %s", method, strings.Join(list, "\n  "))
		assert.LessOrEqual(t, len(list), 12, method)
		assert.Equal(t, 3, testscale.Loads(list), method)
	}
}

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
