package ueventstrace

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
)

// Tracer returns the tracer of an instrumentation scope. Tracers are kept: to ask for one again takes a look-up in a
// map and does not allocate, so that [trace.Tracer.Start] may follow directly.
func (p *TracerProvider) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	scope := instrumentation.Scope{Name: name}
	if len(options) > 0 {
		c := trace.NewTracerConfig(component.WithoutNil(options)...)
		scope.Version, scope.SchemaURL, scope.Attributes = c.InstrumentationVersion(), c.SchemaURL(), c.InstrumentationAttributes()
	}
	if t := p.tracers.Get(scope); t != nil {
		return t
	}
	return p.tracers.Add(scope, newTracer(p, scope))
}

// newTracer returns a tracer. Its scope has the attributes that the limits allow.
func newTracer(p *TracerProvider, scope instrumentation.Scope) *tracer {
	if list := scope.Attributes.ToSlice(); len(list) > 0 {
		list = attrs.LimitedDepth(list, p.attributes.Depth)
		scope.Attributes = attribute.NewSet(list...)
	}
	sink := p.processor.sink
	return &tracer{all: sink.All, sink: sink, provider: p, origin: newOrigin(scope, p.resource, sink.Limit)}
}
