package otlp

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// usual are common records with five attributes. Each program writes one.
var usual = map[string]recordtest.Program{
	"slog": func(t testing.TB, p *uevents.Provider) func() {
		h, err := sloghandler.New("myapp", &sloghandler.Options{Provider: p})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, h.Close()) })
		return func() {
			slog.New(h).Info("request served", "method", "GET", "route", "/users/{id}", "status", 200, "latency", 1500*time.Microsecond, "user", "41")
		}
	},
	"log": func(t testing.TB, p *uevents.Provider) func() {
		logs, err := ueventslog.NewLoggerProvider("myapp", ueventslog.WithProvider(p))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, logs.Shutdown(context.Background())) })
		return func() {
			var r log.Record
			r.SetSeverity(log.SeverityInfo)
			r.SetBody(attribute.StringValue("request served"))
			r.AddAttributes(fiveAttributes...)
			logs.Logger("example.com/users").Emit(context.Background(), r)
		}
	},
	"span": func(t testing.TB, p *uevents.Provider) func() {
		spans, err := ueventstrace.NewTracerProvider("myapp", ueventstrace.WithProvider(p))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, spans.Shutdown(context.Background())) })
		return func() {
			_, span := spans.Tracer("example.com/users").Start(context.Background(), "GET /users/{id}")
			span.SetAttributes(fiveAttributes...)
			span.End()
		}
	},
}

var fiveAttributes = []attribute.KeyValue{
	attribute.String("method", "GET"), attribute.String("route", "/users/{id}"), attribute.Int("status", 200), attribute.Float64("latency", 0.0015), attribute.String("user", "41"),
}

// usualEvent returns the last record of a program, decoded, as a reader returns it.
func usualEvent(b *testing.B, name string) *reader.Event {
	samples := recordtest.Samples(b, usual[name])
	s := samples[len(samples)-1]
	ev := &reader.Event{Time: written, Monotonic: 1e9, PID: 812, TID: 815, Process: myapp}
	require.NoError(b, s.Decoder.Decode(s.Raw, ev, &reader.DecodeOptions{Reuse: true}))
	return ev
}

// batchSize is the number of records after which benchmarks take the data: the receiver's default.
const batchSize = 8192

// BenchmarkAdd converts decoded records.
func BenchmarkAdd(b *testing.B) {
	for name := range usual {
		b.Run(name, func(b *testing.B) {
			ev := usualEvent(b, name)
			c := NewConverter(&Options{DropSpanStarts: true})
			b.ReportAllocs()
			for i := 1; b.Loop(); i++ {
				if err := c.Add(ev); err != nil {
					b.Fatal(err)
				}
				if i%batchSize == 0 {
					c.TakeLogs()
					c.TakeTraces()
				}
			}
		})
	}
}

// BenchmarkPdata fills the same log record as BenchmarkAdd/slog from values that are ready: the data model's part of the cost.
func BenchmarkPdata(b *testing.B) {
	c := NewConverter(nil)
	require.NoError(b, c.Add(usualEvent(b, "slog")))
	from := c.TakeLogs().ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
	type attribute struct {
		name, text string
		number     int64
	}
	var attributes []attribute
	for name, v := range from.Attributes().All() {
		if v.Type() == pcommon.ValueTypeInt {
			attributes = append(attributes, attribute{name: name, number: v.Int()})
		} else {
			attributes = append(attributes, attribute{name: name, text: v.Str()})
		}
	}
	at, body := from.Timestamp(), from.Body().Str()
	b.ReportAllocs()
	logs := plog.NewLogs()
	list := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	for i := 1; b.Loop(); i++ {
		lr := list.AppendEmpty()
		lr.SetTimestamp(at)
		lr.SetObservedTimestamp(at)
		lr.SetSeverityNumber(plog.SeverityNumberInfo)
		lr.SetSeverityText("INFO")
		lr.Body().SetStr(body)
		lr.Attributes().EnsureCapacity(len(attributes))
		for i := range attributes {
			if a := &attributes[i]; a.text != "" {
				lr.Attributes().PutStr(a.name, a.text)
			} else {
				lr.Attributes().PutInt(a.name, a.number)
			}
		}
		if i%batchSize == 0 {
			logs = plog.NewLogs()
			list = logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
		}
	}
}
