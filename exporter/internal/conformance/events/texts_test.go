package events

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

const megabyte = 1 << 20

// hostileTexts are what a program may log without intent.
var hostileTexts = map[string]string{
	"a megabyte":                   strings.Repeat("SELECT ä ", megabyte/10),
	"a megabyte of escapes":        strings.Repeat("\x1b", megabyte),
	"a megabyte that is not UTF-8": strings.Repeat("\xff", megabyte),
	"NUL":                          "a\x00b\x00",
	"not UTF-8":                    "a\xff\xc3b\xed\xa0\x80",
	"control characters":           "\x1b[2J\r\n\u0085\u009b\x7f",
	"direction and invisible":      "\u202e\u2066x\u2069\u200f\u2028\ufeff\u200b",
	"what looks escaped":           `\u202e\x1b"<&>%s%n;`,
	"empty":                        "",
}

// marker is a number that each record has beside the text. It survives.
const marker = 7777

// positions writes one record for each place that a text can have in the signals of an adapter.
type positions map[string]func(s string)

func slogPositions(t *testing.T, p *uevents.Provider) positions {
	h, err := sloghandler.New(program, &sloghandler.Options{Provider: p})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	l := slog.New(h)
	return positions{
		"message":     func(s string) { l.Info(s, "n", marker) },
		"key":         func(s string) { l.Info("m", s, 1, "n", marker) },
		"value":       func(s string) { l.Info("m", "k", s, "n", marker) },
		"error":       func(s string) { l.Info("m", "k", errors.New(s), "n", marker) },
		"group":       func(s string) { l.Info("m", slog.Group(s, "k", 1), "n", marker) },
		"open group":  func(s string) { l.WithGroup(s).Info("m", "n", marker) },
		"bound key":   func(s string) { l.With(s, 1).Info("m", "n", marker) },
		"bound value": func(s string) { l.With("k", s).Info("m", "n", marker) },
		"list":        func(s string) { l.Info("m", "k", []string{s, s}, "n", marker) },
		"map":         func(s string) { l.Info("m", "k", map[string]any{s: s}, "n", marker) },
		"bytes":       func(s string) { l.Info("m", "k", []byte(s), "n", marker) },
	}
}

func logPositions(t *testing.T, p *uevents.Provider, e ueventslog.Option) positions {
	processor, err := ueventslog.NewProcessor(program, ueventslog.WithProvider(p), e, ueventslog.WithResourceAttributes("host.name"))
	require.NoError(t, err)
	emit := func(change func(*log.Record), name string, res []attribute.KeyValue, o ...log.LoggerOption) {
		provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(keepOpen{processor}), sdklog.WithAttributeValueLengthLimit(-1),
			sdklog.WithResource(resource.NewSchemaless(res...)))
		var r log.Record
		r.SetSeverity(log.SeverityInfo)
		r.SetBody(attribute.StringValue("body"))
		r.AddAttributes(attribute.Int("n", marker))
		change(&r)
		provider.Logger(name, o...).Emit(t.Context(), r)
	}
	t.Cleanup(func() { assert.NoError(t, processor.Shutdown(context.Background())) })
	none := func(*log.Record) {}
	return positions{
		"body": func(s string) { emit(func(r *log.Record) { r.SetBody(attribute.StringValue(s)) }, "l", nil) },
		"map in the body": func(s string) {
			emit(func(r *log.Record) { r.SetBody(attribute.MapValue(attribute.String(s, s))) }, "l", nil)
		},
		"list": func(s string) {
			emit(func(r *log.Record) { r.AddAttributes(attribute.StringSlice("k", []string{s, s})) }, "l", nil)
		},
		"key":   func(s string) { emit(func(r *log.Record) { r.AddAttributes(attribute.Int(s, 1)) }, "l", nil) },
		"value": func(s string) { emit(func(r *log.Record) { r.AddAttributes(attribute.String("k", s)) }, "l", nil) },
		"bytes": func(s string) {
			emit(func(r *log.Record) {
				r.AddAttributes(attribute.KeyValue{Key: "k", Value: attribute.ByteSliceValue([]byte(s))})
			}, "l", nil)
		},
		"error":           func(s string) { emit(func(r *log.Record) { r.SetErr(errors.New(s)) }, "l", nil) },
		"event name":      func(s string) { emit(func(r *log.Record) { r.SetEventName(s) }, "l", nil) },
		"severity text":   func(s string) { emit(func(r *log.Record) { r.SetSeverityText(s) }, "l", nil) },
		"scope":           func(s string) { emit(none, s, nil) },
		"scope version":   func(s string) { emit(none, "l", nil, log.WithInstrumentationVersion(s)) },
		"scope attribute": func(s string) { emit(none, "l", nil, log.WithInstrumentationAttributes(attribute.String("k", s))) },
		"resource":        func(s string) { emit(none, "l", []attribute.KeyValue{attribute.String("host.name", s)}) },
		"service":         func(s string) { emit(none, "l", []attribute.KeyValue{attribute.String("service.name", s)}) },
	}
}

// keepOpen is a processor that many providers share.
type keepOpen struct{ sdklog.Processor }

func (keepOpen) Shutdown(context.Context) error { return nil }

func tracePositions(t *testing.T, p *uevents.Provider, e ueventstrace.Option) positions {
	processor, err := ueventstrace.NewProcessor(program, ueventstrace.WithProvider(p), e, ueventstrace.WithResourceAttributes("host.name"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, processor.Shutdown(context.Background())) })
	limits := sdktrace.NewSpanLimits()
	span := func(name, scope string, change func(trace.Span), res []attribute.KeyValue, o ...trace.TracerOption) {
		provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(processor), sdktrace.WithRawSpanLimits(limits), sdktrace.WithResource(resource.NewSchemaless(res...)))
		_, sp := provider.Tracer(scope, o...).Start(t.Context(), name, trace.WithAttributes(attribute.Int("n", marker)))
		change(sp)
		sp.End()
	}
	none := func(trace.Span) {}
	return positions{
		"name": func(s string) { span(s, "t", none, nil) },
		"key":  func(s string) { span("s", "t", func(sp trace.Span) { sp.SetAttributes(attribute.Int(s, 1)) }, nil) },
		"value": func(s string) {
			span("s", "t", func(sp trace.Span) { sp.SetAttributes(attribute.String("k", s)) }, nil)
		},
		"list": func(s string) {
			span("s", "t", func(sp trace.Span) { sp.SetAttributes(attribute.StringSlice("k", []string{s, s})) }, nil)
		},
		"status":        func(s string) { span("s", "t", func(sp trace.Span) { sp.SetStatus(codes.Error, s) }, nil) },
		"scope":         func(s string) { span("s", s, none, nil) },
		"scope version": func(s string) { span("s", "t", none, nil, trace.WithInstrumentationVersion(s)) },
		"scope attribute": func(s string) {
			span("s", "t", none, nil, trace.WithInstrumentationAttributes(attribute.String("k", s)))
		},
		"resource": func(s string) { span("s", "t", none, []attribute.KeyValue{attribute.String("host.name", s)}) },
		"event": func(s string) {
			span("s", "t", func(sp trace.Span) {
				sp.AddEvent(s, trace.WithAttributes(attribute.String("k", s), attribute.Int("n", marker)))
			}, nil)
		},
		"error": func(s string) { span("s", "t", func(sp trace.Span) { sp.RecordError(errors.New(s)) }, nil) },
		"link": func(s string) {
			sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})
			span("s", "t", func(sp trace.Span) {
				sp.AddLink(trace.Link{SpanContext: sc, Attributes: []attribute.KeyValue{attribute.String("k", s)}})
			}, nil)
		},
	}
}

func metricPositions(t *testing.T, p *uevents.Provider) positions {
	e, err := ueventsmetric.NewExporter(program, ueventsmetric.WithProvider(p))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, e.Shutdown(context.Background())) })
	export := func(m metricdata.Metrics, scope instrumentation.Scope, point metricdata.DataPoint[int64]) {
		point.Time, point.Value = time.Now(), marker
		m.Data = metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{point}}
		// A point that does not fit is an error of the export, and counted.
		_ = e.Export(t.Context(), &metricdata.ResourceMetrics{
			ScopeMetrics: []metricdata.ScopeMetrics{{Scope: scope, Metrics: []metricdata.Metrics{m}}},
		})
	}
	var point metricdata.DataPoint[int64]
	var scope instrumentation.Scope
	return positions{
		"name":  func(s string) { export(metricdata.Metrics{Name: s}, scope, point) },
		"unit":  func(s string) { export(metricdata.Metrics{Name: "m", Unit: s}, scope, point) },
		"scope": func(s string) { export(metricdata.Metrics{Name: "m"}, instrumentation.Scope{Name: s}, point) },
		"scope version": func(s string) {
			export(metricdata.Metrics{Name: "m"}, instrumentation.Scope{Name: "s", Version: s}, point)
		},
		"key and value": func(s string) {
			export(metricdata.Metrics{Name: "m"}, scope, metricdata.DataPoint[int64]{Attributes: attribute.NewSet(attribute.String("k"+s, s))})
		},
		"exemplar": func(s string) {
			export(metricdata.Metrics{Name: "m"}, scope, metricdata.DataPoint[int64]{Exemplars: []metricdata.Exemplar[int64]{
				{Time: time.Now(), Value: 1, FilteredAttributes: []attribute.KeyValue{attribute.String("k", s)}},
			}})
		},
	}
}

// TestTextsInEveryPosition: whatever text a program logs, at whatever place, the record arrives, is no larger than a tool
// keeps, is one line of printable characters in each of its texts, and has its number.
func TestTextsInEveryPosition(t *testing.T) {
	for name, open := range map[string]func(*testing.T, *uevents.Provider) positions{
		"sloghandler": slogPositions,
		"ueventslog":  func(t *testing.T, p *uevents.Provider) positions { return logPositions(t, p, nil) },
		"ueventslog, Common Schema": func(t *testing.T, p *uevents.Provider) positions {
			return logPositions(t, p, ueventslog.WithCommonSchema4())
		},
		"ueventstrace": func(t *testing.T, p *uevents.Provider) positions { return tracePositions(t, p, nil) },
		"ueventstrace, Common Schema": func(t *testing.T, p *uevents.Provider) positions {
			return tracePositions(t, p, ueventstrace.WithCommonSchema4())
		},
		"ueventsmetric": metricPositions,
	} {
		t.Run(name, func(t *testing.T) {
			k := ueventstest.New(t, nil)
			p := k.Provider()
			t.Cleanup(func() { require.NoError(t, p.Close()) })
			list := open(t, p)
			tool, err := k.Attach(ueventstest.Ftrace, program+"_*")
			require.NoError(t, err)
			for position, write := range list {
				for kind, s := range hostileTexts {
					if len(s) > megabyte/2 {
						s = s[:testscale.Count(len(s), 1<<16)]
					}
					t.Run(position+"/"+kind, func(t *testing.T) {
						require.NotPanics(t, func() { write(s) })
						records := tool.Records()
						require.NotEmpty(t, records)
						marked, truncated := false, false
						for _, raw := range records {
							assert.LessOrEqual(t, len(raw.Payload), tracepoint.MaxPayload)
							text, cut := textOf(t, raw)
							marked = marked || strings.Contains(text, "7777")
							truncated = truncated || cut
						}
						// What is in a group goes with the name of the group, which is not cut.
						assert.True(t, marked || position == "open group" && truncated, "the number is lost")
						assert.True(t, truncated || len(s) < 100, "the record does not say that it was cut")
					})
				}
			}
			assert.Zero(t, tool.Oversized())
			assert.Zero(t, tool.Lost())
		})
	}
}

// textOf decodes a record and returns all its fields, and whether the record says that it was truncated. It fails the test
// for text that is not printable.
func textOf(t *testing.T, raw ueventstest.Record) (text string, truncated bool) {
	t.Helper()
	var all strings.Builder
	printable := func(name, s string) {
		all.WriteString(s + "\n")
		for _, c := range s {
			if !unicode.IsPrint(c) || c == unicode.ReplacementChar {
				t.Errorf("%s has %q: %.200q", name, c, s)
				return
			}
		}
	}
	if eventheader.IsDeclaration(raw.Declaration) {
		ev, err := eventheader.Decode(raw.Declaration.Name, raw.Payload)
		require.NoError(t, err)
		printable("event name", ev.Name)
		fields, err := ev.AppendFieldsJSON(nil)
		require.NoError(t, err)
		d := json.NewDecoder(strings.NewReader("{" + string(fields) + "}"))
		for {
			token, err := d.Token()
			if err != nil {
				break
			}
			if s, ok := token.(string); ok {
				printable("a text", s)
			}
		}
		all.Write(fields)
		return all.String(), strings.Contains(string(fields), eventheader.TruncatedField)
	}
	decoder, err := typed.NewDecoder(raw.Declaration, nil)
	require.NoError(t, err)
	r, err := decoder.Decode(raw.Payload)
	require.NoError(t, err)
	for _, f := range raw.Declaration.Fields {
		v, ok := r.Lookup(f.Name)
		require.True(t, ok, f.Name)
		printable(f.Name, string(v.AppendTo(nil)))
		truncated = truncated || f.Name == "truncated" && v.Uint64() > 0
	}
	return all.String(), truncated
}
