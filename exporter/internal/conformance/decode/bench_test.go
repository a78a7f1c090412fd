package decode

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// usual are common records with five attributes. attach registers their event.
var usual = []struct {
	name, event string
	write       func(t testing.TB, p *uevents.Provider, attach func())
}{
	{"slog", "myapp_info", slogUsual},
	{"log", "myapp_log_info", logUsual(nil)},
	{"log Common Schema", "myapp_L4K1", logUsual(ueventslog.WithCommonSchema4())},
	{"span", "myapp_span", spanUsual(nil)},
	{"span Common Schema", "myapp_L4K4", spanUsual(ueventstrace.WithCommonSchema4())},
}

// writeUsual writes the usual record i on a simulated kernel and returns it.
func (r *rig) writeUsual(i int) ueventstest.Record {
	r.t.Helper()
	usual[i].write(r.t, r.provider, func() { r.attach(usual[i].event) })
	records := r.tool.Records()
	require.Len(r.t, records, 1)
	return records[0]
}

func slogUsual(t testing.TB, p *uevents.Provider, attach func()) {
	h, err := sloghandler.New("myapp", &sloghandler.Options{
		Provider:     p,
		TraceContext: func(context.Context) ([16]byte, [8]byte) { return [16]byte{1, 2, 3}, [8]byte{4, 5} },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	attach()
	slog.New(h).Info(usualMessage, slog.Any("http.request.method", "GET"), slog.Any("http.route", "/users/{id}"),
		slog.Int("http.response.status_code", 200), slog.Float64("latency", 0.0015), slog.Bool("cached", true))
}

const usualMessage = "GET /users/{id}"

var fiveAttributes = []attribute.KeyValue{
	attribute.String("http.request.method", "GET"), attribute.String("http.route", "/users/{id}"),
	attribute.Int("http.response.status_code", 200), attribute.Float64("latency", 0.0015), attribute.Bool("cached", true),
}

func logUsual(encoding ueventslog.Option) func(t testing.TB, p *uevents.Provider, attach func()) {
	return func(t testing.TB, p *uevents.Provider, attach func()) {
		provider, err := ueventslog.NewLoggerProvider("myapp", ueventslog.WithProvider(p), encoding)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
		attach()
		var rec log.Record
		rec.SetTimestamp(time.Unix(1700000000, 123456789))
		rec.SetSeverity(log.SeverityInfo)
		rec.SetSeverityText("INFO")
		rec.SetBody(attribute.StringValue(usualMessage))
		rec.AddAttributes(fiveAttributes...)
		ctx := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}}))
		provider.Logger("example.com/users").Emit(ctx, rec)
	}
}

func spanUsual(encoding ueventstrace.Option) func(t testing.TB, p *uevents.Provider, attach func()) {
	return func(t testing.TB, p *uevents.Provider, attach func()) {
		provider, err := ueventstrace.NewTracerProvider("myapp", ueventstrace.WithProvider(p), encoding)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, provider.Shutdown(context.Background())) })
		attach()
		_, span := provider.Tracer("example.com/users").Start(context.Background(), usualMessage,
			trace.WithAttributes(fiveAttributes...), trace.WithSpanKind(trace.SpanKindServer))
		span.End()
	}
}

// reuse is for tools that read many records.
var reuse = &reader.DecodeOptions{Reuse: true}

// BenchmarkDecode measures the decoding of a record in perf's form, for each common kind.
func BenchmarkDecode(b *testing.B) {
	for i, c := range usual {
		b.Run(c.name, func(b *testing.B) {
			r := newRig(b)
			rec := r.writeUsual(i)
			d, raw := r.decoder(rec), raw(rec)
			var ev reader.Event
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if err := d.Decode(raw, &ev, reuse); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestDecodeDoesNotAllocate: decoding common records does not allocate with reuse.
func TestDecodeDoesNotAllocate(t *testing.T) {
	for i, c := range usual {
		r := newRig(t)
		rec := r.writeUsual(i)
		d, raw := r.decoder(rec), raw(rec)
		var ev reader.Event
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if err := d.Decode(raw, &ev, reuse); err != nil {
				t.Fatal(err)
			}
		}), c.name)
	}
}
