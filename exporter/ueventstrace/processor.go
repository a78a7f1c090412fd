package ueventstrace

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/uevents"
)

// Processor is an [sdktrace.SpanProcessor] that writes spans as user events, when
// they start and when they end, each with one system call: there is nothing to batch, and no span is
// lost when the program ends. It takes no lock, except for slices ([WithPerfettoSlices]). [NewProcessor] makes processors.
//
// It writes every span that is recorded, sampled or not; see [NewSampler]. Events and links of a span are written when it ends, since the
// SDK does not tell of them before.
//
// Methods may be called concurrently, also during and after Shutdown.
type Processor struct {
	sink     *sink
	perfetto *perfetto // nil without WithPerfettoSlices
}

var _ sdktrace.SpanProcessor = (*Processor)(nil)

// NewProcessor registers the events of a processor called name, which must be a valid beginning of an
// event's name: 1 to 64 ASCII letters, digits and underscores, the first of which is no digit.
//
// The processor returned is never nil. On an error some of its events, or all of them, are never enabled, and
// everything else works. An argument that is not valid is an error that wraps fs.ErrInvalid, on every machine;
// other errors say why the kernel does not take events and what to do about it, see package uevents.
func NewProcessor(name string, opts ...ProcessorOption) (*Processor, error) {
	c := component.Apply(config{}, opts, ProcessorOption.applyToProcessor)
	return newProcessor(name, &c)
}

func newProcessor(name string, c *config) (*Processor, error) {
	s, err := newSink(name, selfobs.SpanProcessor, []event{spanStart, spanEnd, spanEvent, spanLink}, c)
	p := &Processor{sink: s}
	if s.events[slice] != nil {
		p.perfetto = newPerfetto(s)
	}
	return p, err
}

// OnStart writes the start of a span, if that event is enabled. A nil span is ignored.
func (p *Processor) OnStart(_ context.Context, sp sdktrace.ReadWriteSpan) {
	if !p.sink.All.Enabled() || sp == nil {
		return
	}
	slices := p.perfetto
	if p.sink.enabled(slice) == nil {
		slices = nil
	}
	if start := p.sink.enabled(spanStart); start != nil || slices != nil {
		p.sink.writeStarted(sp, start, slices)
	}
}

// OnEnd writes the links and events of a span, and the span, as far as these events are enabled.
// Errors go to OpenTelemetry's handler, at most one in ten seconds; [Processor.Stats] counts
// all. A nil span is ignored.
func (p *Processor) OnEnd(sp sdktrace.ReadOnlySpan) {
	if sp == nil {
		return
	}
	if p.perfetto != nil && p.perfetto.count.Load() > 0 {
		p.perfetto.end(sp.SpanContext().SpanID())
	}
	if p.sink.All.Enabled() {
		p.sink.Handle(p.sink.writeSnapshot(sp))
	}
}

// start writes the start of a span of [TracerProvider].
func (p *Processor) start(d *spanData) {
	if o := p.sink.enabled(spanStart); o != nil {
		p.sink.Handle(p.sink.writeStart(o, d))
	}
	if p.perfetto != nil {
		p.perfetto.begin(&d.context, &d.parent, d.name, d.resource)
	}
}

// end writes a span of [TracerProvider] that has ended.
func (p *Processor) end(d *spanData) {
	if p.perfetto != nil {
		p.perfetto.end(d.context.spanID)
	}
	if o := p.sink.enabled(spanEnd); o != nil {
		p.sink.Handle(p.sink.writeEnd(o, d))
	}
}

// Shutdown unregisters the events. Afterwards they are never enabled, and all methods do
// nothing. It does not wait, so it does its work even if ctx is done.
func (p *Processor) Shutdown(context.Context) error {
	return p.sink.Close()
}

// ForceFlush does nothing: OnStart and OnEnd return when their records are written.
func (p *Processor) ForceFlush(context.Context) error { return nil }

// Stats returns the counts of each event, by its name.
func (p *Processor) Stats() map[string]uevents.EventStats {
	stats := p.sink.Stats()
	if p.perfetto != nil {
		p.perfetto.stats(stats)
	}
	return stats
}
