package decode

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// TestEventsAreCopies: an event stays what it was when the memory of its record has other records, and the Event is decoded into
// again, also with reuse.
func TestEventsAreCopies(t *testing.T) {
	type sample struct {
		d   *record.Decoder
		raw []byte
	}
	var samples []sample
	add := func(r *rig, records ...ueventstest.Record) {
		for _, rec := range records {
			samples = append(samples, sample{r.decoder(rec), raw(rec)})
		}
	}
	for i := range usual {
		r := newRig(t)
		add(r, r.writeUsual(i))
	}
	r := newRig(t)
	add(r, r.writeMetrics(onePointOfEach())...)
	for _, encoding := range []ueventstrace.Option{nil, ueventstrace.WithCommonSchema4()} {
		r := newRig(t)
		add(r, r.writeNested(encoding)...)
	}
	for _, plain := range []bool{false, true} {
		var want, kept, mixed, clones []*record.Record
		var copying, ev record.Record
		buf := make([]byte, 4<<10)
		for _, s := range samples {
			d := s.d
			if plain {
				d = d.Plain()
			}
			own := new(record.Record)
			require.NoError(t, d.Decode(s.raw, own))
			want = append(want, own)

			b := buf[:copy(buf, s.raw)]
			require.NoError(t, d.Decode(b, &copying))
			kept = append(kept, new(copying))
			require.NoError(t, d.DecodeReuse(b, &ev))
			clones = append(clones, ev.Clone())
			require.NoError(t, d.Decode(b, &ev))
			mixed = append(mixed, new(ev))
			copy(buf, bytes.Repeat([]byte{'#'}, len(buf)))
		}
		lists := map[string]bool{} // what the samples have
		for i, ev := range want {
			for list, n := range map[string]int{"events": len(ev.NestedEvents), "links": len(ev.NestedLinks), "resource": len(ev.Resource), "scope": len(ev.ScopeAttributes)} {
				lists[list] = lists[list] || n > 0
			}
			assert.Equal(t, want[i], kept[i])
			assert.Equal(t, want[i], mixed[i])
			assert.Equal(t, recordtest.Describe(want[i]), recordtest.Describe(clones[i]))
			if ev.Header != nil {
				assert.Equal(t, *ev.Header, *clones[i].Header)
			}
		}
		for list, found := range lists {
			assert.Equal(t, !plain, found, list)
		}
	}
}

// writeNested writes a span with events, links, a resource and a scope, all of which have attributes.
func (r *rig) writeNested(encoding ueventstrace.Option) []ueventstest.Record {
	x, err := ueventstrace.NewExporter("myapp", ueventstrace.WithProvider(r.provider), encoding,
		ueventstrace.WithResourceAttributes("host.cpus"))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, x.Shutdown(context.Background())) })
	r.attach()
	of := func(name string) []attribute.KeyValue {
		return []attribute.KeyValue{attribute.String("of", name), attribute.StringSlice("list", []string{name, "a"})}
	}
	link := newRandom(1).spanContext(true)
	require.NoError(r.t, x.ExportSpans(context.Background(), tracetest.SpanStubs{{
		Name: "GET", SpanContext: newRandom(2).spanContext(false), Attributes: of("span"), Resource: testResource,
		Events:               []sdktrace.Event{{Name: "one", Attributes: of("one")}, {Name: "two", Attributes: of("two")}},
		Links:                []sdktrace.Link{{SpanContext: link, Attributes: of("link")}, {SpanContext: link, Attributes: of("link 2")}},
		InstrumentationScope: instrumentation.Scope{Name: "scope", Version: "1", SchemaURL: "url", Attributes: attribute.NewSet(of("scope")...)},
	}}.Snapshots()))
	return r.tool.Records()
}

// TestDecodeAllocations: without reuse, an event allocates its bytes and its fields; of the EventHeader format, also the header, its
// name, and the elements of structs.
func TestDecodeAllocations(t *testing.T) {
	testscale.CountAllocations(t)
	for i, want := range []float64{2, 2, 6, 2, 6} {
		r := newRig(t)
		rec := r.writeUsual(i)
		d, raw := r.decoder(rec), raw(rec)
		var ev record.Record
		assert.Equal(t, want, testing.AllocsPerRun(100, func() {
			if err := d.Decode(raw, &ev); err != nil {
				t.Fatal(err)
			}
		}), usual[i].name)
	}
}

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

// BenchmarkDecode measures the decoding of a record in perf's form, for each common kind.
func BenchmarkDecode(b *testing.B) {
	for i, c := range usual {
		b.Run(c.name, func(b *testing.B) {
			r := newRig(b)
			rec := r.writeUsual(i)
			d, raw := r.decoder(rec), raw(rec)
			var ev record.Record
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if err := d.DecodeReuse(raw, &ev); err != nil {
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
		var ev record.Record
		require.Zero(t, testing.AllocsPerRun(100, func() {
			if err := d.DecodeReuse(raw, &ev); err != nil {
				t.Fatal(err)
			}
		}), c.name)
	}
}
