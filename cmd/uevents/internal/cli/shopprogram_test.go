package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/sloghandler/oteltrace"
	"github.com/userevents/userevents-go/uevents"
)

// shopRequest is the declared record of the shop.
type shopRequest struct {
	Route   string        `uevent:"route"`
	Status  uint16        `uevent:"status"`
	Latency time.Duration `uevent:"latency_ns"`
}

// shopProgram is a program of the shop while it runs.
type shopProgram struct {
	log     *slog.Logger
	tracer  trace.Tracer
	metrics *ueventsmetric.Exporter
	began   time.Time
	spans   map[int]context.Context // the spans that have not ended, by the number of their start
}

// shopMain, given the beginning of the names of its events, a number of records and a directory, writes its part of that many records
// of the shop. The directory has files for each step: NAME.pid, when the events are registered, and NAME.done, when all records are
// written, by the program; begin and end, for which it waits before and after, by the test.
func shopMain(args []string) (err error) {
	ctx, program := context.Background(), filepath.Base(os.Args[0])
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	p, err := uevents.Open(nil)
	if err != nil {
		return err
	}
	name := args[0]
	h, logErr := sloghandler.New(name, &sloghandler.Options{
		Provider: p, TraceContext: oteltrace.Context,
		Declarations: []sloghandler.AnyDeclaration{sloghandler.Declare[shopRequest]("request", nil)},
	})
	spans, spanErr := ueventstrace.NewTracerProvider(name, ueventstrace.WithProvider(p),
		ueventstrace.WithResource(resource.NewSchemaless(attribute.String("service.name", program))))
	metrics, metricErr := ueventsmetric.NewExporter(name, ueventsmetric.WithProvider(p))
	if err := errors.Join(logErr, spanErr, metricErr); err != nil {
		return err
	}
	s := shopProgram{log: slog.New(h), tracer: spans.Tracer("http"), metrics: metrics, began: time.Now(), spans: map[int]context.Context{}}
	records := newShopPlan(n)
	file := func(name string) string { return filepath.Join(args[2], name) }
	if err := errors.Join(os.WriteFile(file(program+".pid"), []byte(strconv.Itoa(os.Getpid())), 0o600), exists(file("begin"))); err != nil {
		return err
	}
	for i := range records {
		if r := &records[i]; r.program == program {
			if err := s.write(ctx, r); err != nil {
				return err
			}
		}
	}
	if err := errors.Join(create(file(program+".done")), exists(file("end"))); err != nil {
		return err
	}
	return errors.Join(metrics.Shutdown(ctx), spans.Shutdown(ctx), h.Close(), p.Close())
}

// write writes a record.
func (s *shopProgram) write(ctx context.Context, r *shopRecord) error {
	within := ctx
	if r.parent != 0 {
		within = s.spans[r.parent]
	}
	span := trace.SpanFromContext(within)
	switch r.kind {
	case "log":
		s.log.LogAttrs(within, r.level, r.name, r.slogAttrs()...)
	case "span_start":
		if r.parent == 0 {
			within = trace.ContextWithRemoteSpanContext(ctx, spanContextOf(r.trace, r.caller))
		}
		s.spans[r.seq], _ = s.tracer.Start(within, r.name, trace.WithTimestamp(s.began), trace.WithSpanKind(r.spanKind), trace.WithAttributes(r.attributes()...))
	case "span":
		span = trace.SpanFromContext(s.spans[r.seq])
		if r.failure != "" {
			span.SetStatus(codes.Error, r.failure)
		}
		span.End(trace.WithTimestamp(s.began.Add(r.took)))
	case "span_event":
		span.AddEvent(r.name, trace.WithAttributes(r.attributes()...))
	case "span_link":
		span.AddLink(trace.Link{SpanContext: spanContextOf(r.linked, r.caller), Attributes: r.attributes()})
	case "metric":
		return s.metrics.Export(ctx, &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{
			Scope:   instrumentation.Scope{Name: "http"},
			Metrics: []metricdata.Metrics{{Name: r.name, Data: r.point(s.began)}},
		}}})
	default:
		return fmt.Errorf("no such kind: %s", r.kind)
	}
	return nil
}

// spanContextOf returns the context of a span outside of the shop.
func spanContextOf(traceID, spanID string) trace.SpanContext {
	t, tErr := trace.TraceIDFromHex(traceID)
	s, sErr := trace.SpanIDFromHex(spanID)
	if err := errors.Join(tErr, sErr); err != nil {
		panic(err) // the plan is wrong
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: t, SpanID: s, Remote: true})
}

// point returns a data point of a metric: a gauge, an increment of a counter, or a histogram.
func (r *shopRecord) point(at time.Time) metricdata.Aggregation {
	attrs := attribute.NewSet(r.attributes()...)
	switch r.name {
	case "queue.depth":
		return metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Attributes: attrs, Time: at, Value: int64(r.value)}}}
	case "payments.charged":
		return metricdata.Sum[float64]{
			Temporality: metricdata.DeltaTemporality, IsMonotonic: true,
			DataPoints: []metricdata.DataPoint[float64]{{Attributes: attrs, Time: at, Value: r.value}},
		}
	}
	point := metricdata.HistogramDataPoint[float64]{Attributes: attrs, Time: at, Count: uint64(len(r.durations)), Bounds: []float64{}, BucketCounts: []uint64{uint64(len(r.durations))}}
	for _, d := range r.durations {
		point.Sum += d
	}
	if len(r.durations) > 0 {
		point.Min, point.Max = metricdata.NewExtrema(slices.Min(r.durations)), metricdata.NewExtrema(slices.Max(r.durations))
	}
	return metricdata.Histogram[float64]{Temporality: metricdata.DeltaTemporality, DataPoints: []metricdata.HistogramDataPoint[float64]{point}}
}

// slogAttrs returns the attributes of a log record. Those of db, retry, user and card are groups.
func (r *shopRecord) slogAttrs() (list []slog.Attr) {
	for _, a := range r.attrs {
		group, member, ok := strings.Cut(a.key, ".")
		switch last := len(list) - 1; {
		case !ok || !slices.Contains([]string{"db", "retry", "user", "card"}, group):
			list = append(list, slog.Any(a.key, a.value))
		case last >= 0 && list[last].Key == group:
			list[last].Value = slog.GroupValue(append(list[last].Value.Group(), slog.Any(member, a.value))...)
		default:
			list = append(list, slog.Attr{Key: group, Value: slog.GroupValue(slog.Any(member, a.value))})
		}
	}
	return append(list, slog.Int("seq", r.seq))
}

// attributes returns the attributes of a span, an event, a link or a data point.
func (r *shopRecord) attributes() (list []attribute.KeyValue) {
	for _, a := range r.attrs {
		switch v := a.value.(type) {
		case string:
			list = append(list, attribute.String(a.key, v))
		case int64:
			list = append(list, attribute.Int64(a.key, v))
		}
	}
	return append(list, attribute.Int("seq", r.seq))
}
