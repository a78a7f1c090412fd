package ueventstrace

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/exporter/internal/selfobs"
)

// Processor is an [sdktrace.SpanProcessor] that writes spans as user events, where and when
// they start and end, each with one system call: there is nothing to batch, and nothing is
// lost when the program ends. It takes no lock, but for slices ([WithPerfettoSlices]). Processors
// come from [New].
//
// It writes every span that is recorded, sampled or not; see [NewSampler].
//
// Methods may be called concurrently, also during and after Shutdown.
type Processor struct {
	sink     *sink
	perfetto *perfetto // nil without WithPerfettoSlices
}

var _ sdktrace.SpanProcessor = (*Processor)(nil)

// New registers the events of a processor called name, which must be a valid beginning of an
// event's name: letters, digits and underscores.
//
// The processor returned is never nil. With an error it works and is never enabled, in whole
// or for some events; the error says what is missing and what to do about it, see package
// uevents.
func New(name string, opts ...Option) (*Processor, error) {
	s, err := newSink(name, selfobs.SpanProcessor, []event{spanStart, spanEnd, spanEvent, spanLink}, opts)
	p := &Processor{sink: s}
	if s.outlets[slice] != nil {
		p.perfetto = newPerfetto(s)
	}
	return p, err
}

// Enabled reports whether anybody traces any of the events. It is one load and one branch.
func (p *Processor) Enabled() bool { return p.sink.all.Enabled() }

// OnStart writes that a span has started, if anybody traces that event.
func (p *Processor) OnStart(_ context.Context, sp sdktrace.ReadWriteSpan) {
	if !p.sink.all.MaybeEnabled() {
		return
	}
	if o := p.sink.enabled(spanStart); o != nil {
		p.sink.handle(p.sink.writeStart(o, sp))
	}
	if p.perfetto != nil {
		p.perfetto.begin(sp)
	}
}

// OnEnd writes the links and events of a span, and the span, as far as anybody traces them.
// Errors go to OpenTelemetry's handler, at most one in ten seconds; [Processor.Stats] counts
// all.
func (p *Processor) OnEnd(sp sdktrace.ReadOnlySpan) {
	if p.perfetto != nil {
		p.perfetto.end(sp)
	}
	if p.sink.all.MaybeEnabled() {
		p.sink.handle(p.sink.writeEnded(sp))
	}
}

// Shutdown unregisters the events. Afterwards they are never enabled, and all methods do
// nothing. It does not wait for anything, so it does its work even if ctx is done.
func (p *Processor) Shutdown(context.Context) error { return p.sink.close() }

// ForceFlush does nothing: everything has been written when OnStart or OnEnd returns.
func (p *Processor) ForceFlush(context.Context) error { return nil }

// Stats returns the counts of each event, by its name.
func (p *Processor) Stats() map[string]Stats { return p.sink.stats() }
