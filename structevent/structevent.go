// Package structevent publishes Go structs as user_events: a struct type declares an event, and a plan made
// once copies values into records.
//
//	type HTTPRequest struct {
//		Method  string        `uevent:"method"`
//		Route   string        `uevent:"route"`
//		Status  uint16        `uevent:"status"`
//		Latency time.Duration `uevent:"latency_ns"`
//	}
//
//	requests, err := structevent.Define[HTTPRequest](provider, "myapp_http_request", nil)
//	...
//	requests.Emit(&HTTPRequest{Method: "GET", Route: "/users/{id}", Status: 200, Latency: d})
//
// Every field of the struct is a field of the tracepoint with a type of its own, so the
// kernel filters and aggregates on it without any program in between: the filter status >=
// 500, the trigger hist:keys=route:vals=latency_ns.
// [typed.Plan] has the table of Go types and what becomes of them.
package structevent

import (
	"sync/atomic"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// Event is an event whose records are values of T. Its methods may be called concurrently, also during and after
// Close. Events come from [Define].
type Event[T any] struct {
	ev        *uevents.Event
	plan      *typed.Plan[T] // nil if T or the name cannot be declared
	decl      tracepoint.Declaration
	truncated atomic.Uint64
}

// Define registers an event called name with the fields of T. The event returned is never
// nil; with an error it is never enabled, and nothing is registered. The error says which field of T cannot be
// a field of an event ([tracepoint.ErrInvalid]), or is that of [uevents.Provider.Register].
//
// The default of the option Naming is [uevents.NameHashedOnConflict]: if a tool is still attached to the event of an
// old version of the program, whose T had other fields, the event gets a name with a hash. [Event.Name] and
// [Event.Conflict] tell.
func Define[T any](p *uevents.Provider, name string, o *uevents.EventOptions) (*Event[T], error) {
	plan, err := typed.PlanFor[T](name)
	if err != nil {
		// The provider refuses a field without a type: the event is never enabled, and Enabled needs no nil check.
		ev, _ := p.Register(tracepoint.Declaration{Name: name, Fields: []tracepoint.Field{{}}}, nil)
		return &Event[T]{ev: ev, decl: tracepoint.Declaration{Name: name}}, err
	}
	var own uevents.EventOptions
	if o != nil {
		own = *o
	}
	if own.Naming == uevents.NameDefault {
		own.Naming = uevents.NameHashedOnConflict
	}
	ev, err := p.Register(plan.Declaration(), &own)
	return &Event[T]{ev: ev, plan: plan, decl: ev.Declaration()}, err
}

// Enabled reports whether the event is enabled: a tracing tool is attached.
func (e *Event[T]) Enabled() bool { return e.ev.Enabled() }

// Emit writes v if the event is enabled, with one system call and without allocating. When it is disabled, Emit does
// nothing after the enabled check; where v takes work to fill in, ask Enabled first. Emit does
// not keep v, and v does not escape to the heap. If v is nil, Emit does nothing.
//
// A record that is larger than the limit is truncated, see [typed.Plan.Append]. [Event.Stats] counts truncated records
// and failures.
func (e *Event[T]) Emit(v *T) {
	if e.Enabled() && v != nil {
		e.emit(v)
	}
}

func (e *Event[T]) emit(v *T) {
	b := bufpool.Get()
	var index [uevents.IndexSize]byte
	buf, truncated := e.plan.Append(append(*b, index[:]...), v, e.ev.MaxPayload())
	written, _ := e.ev.WriteRecord(buf) // counted
	if written && truncated > 0 {
		e.truncated.Add(1)
	}
	*b = buf
	bufpool.Put(b)
}

// Name returns the name that the event was registered with: see [uevents.Event.Name].
func (e *Event[T]) Name() string { return e.decl.Name }

// Declaration returns the event's name and fields, without fields if T cannot be declared. The caller must not
// change Fields.
func (e *Event[T]) Declaration() tracepoint.Declaration { return e.decl }

// Conflict returns nil if the event has the name that was asked for, and else why it has a name with a hash: see
// [uevents.Event.Conflict].
func (e *Event[T]) Conflict() error { return e.ev.Conflict() }

// Stats returns the event's counts.
func (e *Event[T]) Stats() uevents.EventStats {
	n := e.ev.Stats()
	n.Truncated = e.truncated.Load()
	return n
}

// Close unregisters the event, as closing the provider does. It may be called more than once.
func (e *Event[T]) Close() error { return e.ev.Close() }
