package reader_test

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
)

// usual are records with five attributes, as programs write most of them.
var usual = []struct {
	name  string
	write func(t testing.TB, r *rig)
}{
	{"slog", func(t testing.TB, r *rig) { slogUsual(t, r, sloghandler.Typed) }},
	{"slog EventHeader", func(t testing.TB, r *rig) { slogUsual(t, r, sloghandler.EventHeader) }},
	{"log", func(t testing.TB, r *rig) { logUsual(t, r, ueventslog.Typed) }},
	{"log Common Schema", func(t testing.TB, r *rig) { logUsual(t, r, ueventslog.CommonSchema4) }},
	{"span", func(t testing.TB, r *rig) { spanUsual(t, r, ueventstrace.Typed) }},
	{"span Common Schema", func(t testing.TB, r *rig) { spanUsual(t, r, ueventstrace.CommonSchema4) }},
}

func slogUsual(t testing.TB, r *rig, encoding sloghandler.Encoding) {
	h, err := sloghandler.New("myapp", &sloghandler.Options{
		Provider: r.provider, Encoding: encoding,
		TraceContext: func(context.Context) ([16]byte, [8]byte) { return [16]byte{1, 2, 3}, [8]byte{4, 5} },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	r.attach()
	slog.New(h).Info("request handled", "method", "GET", "route", "/users/{id}", "status", 200, "latency", 1500*time.Microsecond, "cached", true)
}

var fiveAttributes = []attribute.KeyValue{
	attribute.String("http.request.method", "GET"), attribute.String("http.route", "/users/{id}"),
	attribute.Int("http.response.status_code", 200), attribute.Float64("latency", 0.0015), attribute.Bool("cached", true),
}

func logUsual(t testing.TB, r *rig, encoding ueventslog.Encoding) {
	p, err := ueventslog.NewLoggerProvider("myapp", ueventslog.WithEventProvider(r.provider), ueventslog.WithEncoding(encoding))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Shutdown(context.Background())) })
	r.attach()
	var rec log.Record
	rec.SetTimestamp(time.Unix(1700000000, 123456789))
	rec.SetSeverity(log.SeverityInfo)
	rec.SetSeverityText("INFO")
	rec.SetBody(attribute.StringValue("request handled"))
	rec.AddAttributes(fiveAttributes...)
	ctx := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}}))
	p.Logger("example.com/users").Emit(ctx, rec)
}

func spanUsual(t testing.TB, r *rig, encoding ueventstrace.Encoding) {
	p, err := ueventstrace.NewTracerProvider("myapp", ueventstrace.WithEventProvider(r.provider), ueventstrace.WithEncoding(encoding))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Shutdown(context.Background())) })
	r.attach()
	_, span := p.Tracer("example.com/users").Start(context.Background(), "GET /users/{id}", trace.WithAttributes(fiveAttributes...), trace.WithSpanKind(trace.SpanKindServer))
	if encoding == ueventstrace.Typed {
		r.tool.Records() // the start
	}
	span.End()
}

// BenchmarkDecode is the cost of a record, as perf hands it out, of each kind that programs write most.
func BenchmarkDecode(b *testing.B) {
	for _, c := range usual {
		b.Run(c.name, func(b *testing.B) {
			r := newRig(b)
			c.write(b, r)
			records := r.tool.Records()
			require.Len(b, records, 1)
			d, raw := r.decoder(records[0]), raw(records[0])
			var ev reader.Event
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if err := d.Decode(raw, &ev); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestDecodeDoesNotAllocate: usual records take no memory.
func TestDecodeDoesNotAllocate(t *testing.T) {
	for _, c := range usual {
		r := newRig(t)
		c.write(t, r)
		records := r.tool.Records()
		require.Len(t, records, 1, c.name)
		d, raw := r.decoder(records[0]), raw(records[0])
		var ev reader.Event
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if err := d.Decode(raw, &ev); err != nil {
				t.Fatal(err)
			}
		}), c.name)
	}
}
