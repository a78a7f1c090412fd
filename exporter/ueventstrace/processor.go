package ueventstrace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

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
type Processor struct{ events }

var _ sdktrace.SpanProcessor = (*Processor)(nil)

// NewProcessor registers the events of a processor called name, which must be a valid beginning of an
// event's name: 1 to 64 ASCII letters, digits and underscores, the first of which is no digit.
//
// The processor returned is never nil. On an error some of its events, or all of them, are never enabled, and
// everything else works. An argument that is not valid is an error that wraps fs.ErrInvalid, on every machine;
// other errors say why the kernel does not take events and what to do about it, see package uevents.
func NewProcessor(name string, opts ...Option) (*Processor, error) {
	c := component.Apply(config{}, opts)
	s, err := newSink(name, selfobs.SpanProcessor, allEvents, &c)
	return &Processor{events{s}}, err
}

// OnStart writes the start of a span, if that event is enabled. A nil span is ignored.
func (p *Processor) OnStart(_ context.Context, sp sdktrace.ReadWriteSpan) {
	if !p.sink.All.Enabled() || sp == nil {
		return
	}
	slices := p.sink.perfetto
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
	if slices := p.sink.perfetto; slices != nil && slices.count.Load() > 0 {
		slices.end(sp.SpanContext().SpanID())
	}
	if p.sink.All.Enabled() {
		p.sink.Handle(p.sink.writeSnapshot(sp))
	}
}

// start writes the start of a span of [TracerProvider].
func (s *sink) start(d *spanData) {
	if o := s.enabled(spanStart); o != nil {
		s.Handle(s.writeStart(o, d))
	}
	if s.perfetto != nil {
		s.perfetto.begin(&d.context, &d.parent, d.name, d.resource)
	}
}

// end writes a span of [TracerProvider] that has ended.
func (s *sink) end(d *spanData) {
	if s.perfetto != nil {
		s.perfetto.end(d.context.spanID)
	}
	if o := s.enabled(spanEnd); o != nil {
		s.Handle(s.writeEnd(o, d))
	}
}

type events struct{ sink *sink }

// Shutdown unregisters the events. Afterwards they are never enabled, and the other methods do nothing; ExportSpans returns an error.
// Spans that are open are not written. Shutdown does not wait, ignores ctx, and may be called more than once.
func (e *events) Shutdown(context.Context) error { return e.sink.Close() }

// ForceFlush does nothing: a record has been written when the method returns that makes it.
func (e *events) ForceFlush(context.Context) error { return nil }

// Stats returns the counts of each event, by its name.
func (e *events) Stats() map[string]uevents.EventStats {
	stats := e.sink.Stats()
	if e.sink.perfetto != nil {
		e.sink.perfetto.stats(stats)
	}
	return stats
}

// Exporter is an [sdktrace.SpanExporter] that writes spans as user events, for pipelines that
// need an exporter. Prefer [Processor]: behind the SDK's simple or batch processor, only
// sampled spans arrive, their starts are not written, and a timeline shows the time
// and thread of the export. [NewExporter] makes exporters.
//
// Methods may be called concurrently, ExportSpans too.
type Exporter struct{ events }

var _ sdktrace.SpanExporter = (*Exporter)(nil)

var errExporterShutdown = errors.New("ueventstrace: exporter is shutdown")

// NewExporter registers the events of an exporter called name, which are those of [NewProcessor]
// without NAME_span_start and NAME_slice. Name and errors are as in [NewProcessor].
func NewExporter(name string, opts ...Option) (*Exporter, error) {
	c := component.Apply(config{}, opts)
	c.perfetto = false
	s, err := newSink(name, selfobs.SpanExporter, []event{spanEnd, spanEvent, spanLink}, &c)
	return &Exporter{events{s}}, err
}

// ExportSpans writes the spans whose events are enabled. It keeps no reference to spans, and ignores those that are nil. If ctx is
// done, the rest is not written, and the error wraps that of ctx. After Shutdown it returns
// an error.
//
// A span that the kernel refuses does not keep the others from being written. Of such errors
// at most one in ten seconds is returned; [Exporter.Stats] counts all.
func (e *Exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return e.sink.Export(ctx, len(spans), "spans", errExporterShutdown, func(i int) error {
		if spans[i] == nil || !e.sink.All.Enabled() {
			return nil
		}
		return e.sink.writeSnapshot(spans[i])
	})
}

type sampler struct {
	inner sdktrace.Sampler
	gate  *sink
}

// NewSampler returns a sampler that records every span while an event of gate is enabled. A span that inner drops is
// then recorded and not sampled (RecordOnly). The sampled flag and the trace state, which the span propagates, are those that
// inner decides, always. A nil inner means the SDK's default: the sampler of OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG, and without
// these one that samples all roots, and other spans as their parents.
//
// The processors that the SDK has for exporters, simple and batch, skip spans that are not sampled: exporters get the spans that
// inner decides. Any other processor of the provider gets the spans that are recorded only, too, while an event is enabled: such as one
// that shows recent spans, counts them, or has a queue of its own. It tells them by SpanContext().IsSampled().
// Instrumentation treats them as all spans with IsRecording().
//
//	sdktrace.WithSampler(ueventstrace.NewSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01)), processor))
//
// Put it around [sdktrace.ParentBased] and not inside, where it would not be asked about spans with a parent.
func NewSampler(inner sdktrace.Sampler, gate *Processor) sdktrace.Sampler {
	if inner == nil {
		inner = samplerFromEnv()
	}
	return &sampler{inner, gate.sink}
}

// ShouldSample asks the inner sampler, and records the spans that it drops while an event is enabled.
func (s *sampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	result := s.inner.ShouldSample(p)
	switch result.Decision {
	case sdktrace.RecordOnly, sdktrace.RecordAndSample:
	default: // the SDK drops spans for values that it does not know, too
		if s.gate.All.Enabled() {
			result.Decision = sdktrace.RecordOnly
		}
	}
	return result
}

func (s *sampler) Description() string {
	return fmt.Sprintf("UserEvents{%s}", s.inner.Description())
}

// samplerFromEnv returns the sampler that the SDK takes from OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG. The SDK
// keeps its own to itself. It reads the variables even if it is given a sampler, and reports what is wrong with them.
func samplerFromEnv() sdktrace.Sampler {
	name, parentBased := strings.CutPrefix(strings.ToLower(strings.TrimSpace(os.Getenv("OTEL_TRACES_SAMPLER"))), "parentbased_")
	var root sdktrace.Sampler
	switch name {
	case "always_on":
		root = sdktrace.AlwaysSample()
	case "always_off":
		root = sdktrace.NeverSample()
	case "traceidratio":
		root = sdktrace.TraceIDRatioBased(ratioFromEnv())
	default:
		return sdktrace.ParentBased(sdktrace.AlwaysSample())
	}
	if parentBased {
		return sdktrace.ParentBased(root)
	}
	return root
}

// ratioFromEnv returns 1 for what is no ratio.
func ratioFromEnv() float64 {
	ratio, err := strconv.ParseFloat(strings.TrimSpace(os.Getenv("OTEL_TRACES_SAMPLER_ARG")), 64)
	if err != nil || ratio < 0 || ratio > 1 {
		return 1
	}
	return ratio
}
