// Package structevent publishes Go structs as user_events: a struct type describes an event
// once, and writing one is a copy by a plan made then.
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

// Event is an event whose records are values of T. Its methods may be called concurrently.
type Event[T any] struct {
	*uevents.Event
	plan *typed.Plan[T]
	cut  atomic.Uint64
}

// Define registers an event called name with the fields of T. The event returned is never
// nil; with an error it is never enabled. The error says which field of T has no place in
// an event ([tracepoint.ErrInvalid]), or is that of [uevents.Provider.Register].
func Define[T any](p *uevents.Provider, name string, o *uevents.EventOptions) (*Event[T], error) {
	plan, err := typed.PlanFor[T](name)
	if err != nil {
		// A field without a name or type is refused, and makes an event that is never
		// enabled.
		never, _ := p.Register(tracepoint.Declaration{Name: name, Fields: make([]tracepoint.Field, 1)}, nil)
		return &Event[T]{Event: never}, err
	}
	ev, err := p.Register(plan.Declaration(), o)
	return &Event[T]{Event: ev, plan: plan}, err
}

// Emit writes v if anybody traces the event, with one system call and without allocating.
// Otherwise it costs a branch; where v takes work to fill in, ask Enabled first. Emit does
// not keep v, and v does not escape to the heap.
//
// What does not fit into the record is cut, see [typed.Plan.Append]. Failures are counted
// by [uevents.Event.Stats].
func (e *Event[T]) Emit(v *T) {
	if e.Enabled() {
		e.emit(v)
	}
}

func (e *Event[T]) emit(v *T) {
	b := bufpool.Get()
	var index [uevents.IndexSize]byte
	buf, cut := e.plan.Append(append(*b, index[:]...), v, e.MaxPayload())
	_ = e.Write(buf) // counted
	if cut > 0 {
		e.cut.Add(1)
	}
	*b = buf
	bufpool.Put(b)
}

// Cut returns how many events did not fit whole.
func (e *Event[T]) Cut() uint64 { return e.cut.Load() }
