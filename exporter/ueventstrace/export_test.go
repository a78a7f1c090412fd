package ueventstrace

import (
	"reflect"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/component"
)

// SetLimits replaces the limits of the environment. No span may be open. The tracers are new ones, as scopes are limited
// when their tracers are made.
func (p *TracerProvider) SetLimits(l sdktrace.SpanLimits) {
	p.setLimits(l)
	if depth := DepthLimit(&l); depth.IsValid() {
		p.attributes.Depth = int(depth.Int())
	}
	p.tracers = component.Scopes[tracer]{}
}

// DepthLimit returns the depth limit of values, a field that SDKs have from 1.47 on.
func DepthLimit(l *sdktrace.SpanLimits) reflect.Value {
	return reflect.ValueOf(l).Elem().FieldByName("AttributeValueDepthLimit")
}

// Limits returns the limits of spans.
func (p *TracerProvider) Limits() sdktrace.SpanLimits { return p.limits }

// AddTracer is Tracer for a goroutine that has found no tracer of that name.
func (p *TracerProvider) AddTracer(name string) trace.Tracer {
	scope := instrumentation.Scope{Name: name}
	return p.tracers.Add(scope, newTracer(p, scope))
}

// Stub returns what a recorded span of this package has in events.
func Stub(span trace.Span) tracetest.SpanStub {
	s := span.(*recordingSpan)
	s.mu.Lock()
	defer s.mu.Unlock()
	d := &s.data
	return tracetest.SpanStub{
		Name:                 d.name,
		SpanContext:          s.EventSpanContext(),
		Parent:               d.parent.withState(d.state),
		SpanKind:             d.kind,
		StartTime:            d.start,
		EndTime:              d.endTime(),
		Attributes:           d.attributes.All,
		Events:               d.events,
		Links:                d.links,
		Status:               d.status,
		DroppedAttributes:    d.attributes.Dropped,
		DroppedEvents:        d.droppedEvents,
		DroppedLinks:         d.droppedLinks,
		InstrumentationScope: d.scope,
	}
}

// OpenSlices returns how many slices are open.
func (p *Processor) OpenSlices() int64 { return p.sink.perfetto.count.Load() }

// Enabled reports whether any of the events is enabled.
func (e *events) Enabled() bool { return e.sink.All.Enabled() }
