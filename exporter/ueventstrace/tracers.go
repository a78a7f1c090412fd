package ueventstrace

import (
	"maps"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

// maxTracers bounds the table of tracers, for programs whose tracers have names of their own for each request.
const maxTracers = 1 << 8

// tracers are the tracers of a provider by their scopes, so that asking for a tracer again does not allocate. A table
// is never changed: it is replaced.
type tracers struct {
	table atomic.Pointer[map[instrumentation.Scope]*tracer]
	mu    sync.Mutex // held by those who replace it
}

// Tracer returns the tracer of an instrumentation scope. Tracers are kept: to ask for one again takes a look-up in a
// map and does not allocate, so that [trace.Tracer.Start] may follow directly.
func (p *TracerProvider) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	scope := instrumentation.Scope{Name: name}
	if len(options) > 0 {
		c := trace.NewTracerConfig(withoutNil(options)...)
		scope.Version, scope.SchemaURL, scope.Attributes = c.InstrumentationVersion(), c.SchemaURL(), c.InstrumentationAttributes()
	}
	if table := p.tracers.table.Load(); table != nil {
		if t := (*table)[scope]; t != nil {
			return t
		}
	}
	return p.tracers.add(scope, newTracer(p, scope))
}

// add keeps a new tracer, unless another one has the scope or the table is full. It returns the one to use.
func (l *tracers) add(scope instrumentation.Scope, t *tracer) *tracer {
	l.mu.Lock()
	defer l.mu.Unlock()
	table := map[instrumentation.Scope]*tracer{}
	if old := l.table.Load(); old != nil {
		if other := (*old)[scope]; other != nil {
			return other
		}
		if len(*old) >= maxTracers {
			return t
		}
		table = maps.Clone(*old)
	}
	table[scope] = t
	l.table.Store(&table)
	return t
}

// newTracer returns a tracer. Its scope has the attributes that the limits allow.
func newTracer(p *TracerProvider, scope instrumentation.Scope) *tracer {
	t := &tracer{sink: p.processor.sink, provider: p, scope: scope, idle: &idleSpan{provider: p}}
	if list := scope.Attributes.ToSlice(); len(list) > 0 {
		normalizeNested(list, p.limits.AttributeValueDepthLimit)
		t.scope.Attributes = attribute.NewSet(list...)
	}
	t.known = attrs.NewKnown(&t.scope, p.resource, t.sink.Limit)
	return t
}
