package collectortest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/collector/distribution/internal/collectortest/sink"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/sys/systest"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

var spans = flag.Int("spans", 500, "`number` of spans in TestSpansOfSeveralProcessors")

func init() { writers["spans"] = writeSpans }

// TestSpansOfSeveralProcessors: each record of a span, its event and its link is written on another CPU than the one before, while
// other programs write on all of them. Each span arrives once, with its own event and link.
func TestSpansOfSeveralProcessors(t *testing.T) {
	short(t)
	dir := kerneltest.RequireTool(t, "taskset")
	const spanRate, logRate = 200, 500 // in a second
	w := launchWriter(t, "spans", 0, *spans, spanRate)
	programs, logs := []*program{w}, *spans*logRate/spanRate
	for cpu := range runtime.NumCPU() {
		programs = append(programs, launchWriter(t, "slog", cpu, logs, logRate))
	}
	c := start(t, settings{receivers: staying, sink: "    detailed: true"})
	c.attached(dir)
	for _, p := range programs {
		p.start()
	}
	assert.Equal(t, map[string]int{"collected_spans_span": *spans, "collected_spans_span_event": *spans, "collected_spans_span_link": *spans}, w.end())
	for _, p := range programs[1:] {
		assert.Equal(t, logs, p.end()["collected_slog_info"])
	}
	c.until("all spans have arrived", func() bool { return c.received().Spans >= *spans })
	c.arrive(logs * runtime.NumCPU()) // no event of a span became a log record
	r := c.received()
	assert.Equal(t, *spans, r.Spans)
	assert.Equal(t, map[string]int{sink.Parts(1, 1): *spans}, r.Whole)
	own := c.scrape()
	assert.Zero(t, own.sum("otelcol_receiver_user_events_orphans"))
	t.Logf("%d spans arrived whole, among %d log records", r.Spans, r.Logs)
	c.end()
}

// writeSpans writes spans with an event and a link, the records of each on several CPUs.
func writeSpans(w *writer) (err error) {
	p, err := uevents.Open(nil)
	must(err)
	defer func() { err = errors.Join(err, p.Close()) }()
	kernel := ueventstest.NewKernel(nil)
	defer func() { err = errors.Join(err, kernel.Close()) }()
	simulated := kernel.Provider()
	defer func() { err = errors.Join(err, simulated.Close()) }()
	provider, err := ueventstrace.NewTracerProvider(named("spans"), ueventstrace.WithProvider(simulated))
	must(err)
	defer func() { err = errors.Join(err, provider.Shutdown(context.Background())) }()
	tool, err := kernel.Attach(ueventstest.Perf, "*")
	must(err)
	records := func(n int) []ueventstest.Record {
		endSpan(provider.Tracer("shop"), fmt.Sprint("span ", n))
		var list []ueventstest.Record
		for _, r := range tool.Records() {
			if r.Event != named("spans_span_start") {
				list = append(list, r)
			}
		}
		return list
	}
	events, counts := map[string]*uevents.Event{}, map[string]uint64{}
	for _, r := range records(0) {
		events[r.Event], err = p.Register(r.Declaration, nil)
		must(err)
	}
	var threads []*pinned
	for cpu := range runtime.NumCPU() {
		t, err := newPinned(cpu)
		must(err)
		threads = append(threads, t)
	}
	turn := 0
	return w.run(func(n int) error {
		for _, r := range records(n) {
			turn++
			err := threads[turn%len(threads)].do(func() error {
				written, err := events[r.Event].WriteRecord(append(make([]byte, uevents.IndexSize), r.Payload...))
				if written {
					counts[r.Event]++
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}, func() map[string]uint64 { return counts })
}

// endSpan makes a span with an event and a link that have its name, as the sink expects it.
func endSpan(tracer trace.Tracer, name string) {
	linked := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})
	_, span := tracer.Start(context.Background(), name)
	span.AddEvent(name)
	span.AddLink(trace.Link{SpanContext: linked, Attributes: []attribute.KeyValue{attribute.String(sink.SpanName, name)}})
	span.End()
}

// pinned is a thread that runs on one CPU.
type pinned struct {
	calls   chan func() error
	results chan error
}

func newPinned(cpu int) (*pinned, error) {
	p := &pinned{calls: make(chan func() error), results: make(chan error)}
	go func() {
		for f := range p.calls {
			p.results <- f()
		}
	}()
	return p, p.do(func() error { return systest.Pin(cpu) })
}

// do runs a function on the thread.
func (p *pinned) do(f func() error) error {
	p.calls <- f
	return <-p.results
}
