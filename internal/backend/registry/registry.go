// Package registry is the kernel's list of user_events: their names and fields, what holds each of them, and the enable bits that
// follow them. The shared memory of a program and the simulated kernel of package ueventstest are registries with
// tracing tools of their own.
package registry

import (
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// Event is an event of a registry. Decl and State are constant; the registry's lock guards the rest.
type Event[S any] struct {
	Decl  tracepoint.Declaration
	State S // what the owner knows about the event; it takes care of concurrency itself

	id      int        // grows with each event
	fixed   int        // bytes that each payload has at least
	dynamic []location // of the dynamic fields
	files   int        // open files that registered the event
	bits    []Bit
}

// Bit is an enable bit in the memory of a program.
type Bit struct {
	Word *atomic.Uintptr
	Bit  uint8
}

// Set sets or clears the bit.
func (b Bit) Set(on bool) {
	if on {
		b.Word.Or(1 << b.Bit)
	} else {
		b.Word.And(^(uintptr(1) << b.Bit))
	}
}

// Files returns how many open files registered the event.
func (e *Event[S]) Files() int { return e.files }

// Bits returns the enable bits that follow the event.
func (e *Event[S]) Bits() []Bit { return e.bits }

// Owner is what makes a registry a kernel. Its methods are called with the registry's lock held.
type Owner[S any] interface {
	// Create prepares the state of a new event, or fails with an errno.
	Create(*Event[S]) error
	// Destroy releases the state of an event that is removed.
	Destroy(*Event[S])
	// Attached reports whether a tracing tool holds the event.
	Attached(*Event[S]) bool
	// Add and Remove tell that a bit begins or ends to follow an event. Add sets the bit if the event is enabled; Remove
	// leaves it clear.
	Add(*Event[S], Bit)
	Remove(*Event[S], Bit)
}

// Registry is a list of events. Its lock is also that of the owner.
type Registry[S any] struct {
	sync.Mutex

	owner  Owner[S]
	byName map[string]*Event[S]
	byBit  map[Bit]*Event[S]
	nextID int
	keeps  bool
	refuse error
}

// New returns a registry without events. One that keeps them behaves as kernels before Linux 6.4: an event stays until it is
// deleted, has its name alone, and is followed by no bits.
func New[S any](owner Owner[S], keeps bool) *Registry[S] {
	return &Registry[S]{owner: owner, keeps: keeps, byName: map[string]*Event[S]{}, byBit: map[Bit]*Event[S]{}}
}

// The functions below are called with the lock held.

// Find returns the event of a name, or nil.
func (r *Registry[S]) Find(name string) *Event[S] { return r.byName[name] }

// Len returns the number of events.
func (r *Registry[S]) Len() int { return len(r.byName) }

// Events returns all events, oldest first.
func (r *Registry[S]) Events() []*Event[S] {
	return slices.SortedFunc(maps.Values(r.byName), func(a, b *Event[S]) int { return a.id - b.id })
}

// Followed returns the event of each bit that follows one.
func (r *Registry[S]) Followed() iter.Seq2[Bit, *Event[S]] { return maps.All(r.byBit) }

// Refuse makes all further registrations fail with an error.
func (r *Registry[S]) Refuse(err error) { r.refuse = err }

// Release removes an event that nothing holds. A real kernel does so a little later.
func (r *Registry[S]) Release(e *Event[S]) {
	if !r.keeps && !r.busy(e) {
		r.destroy(e)
	}
}

func (r *Registry[S]) busy(e *Event[S]) bool {
	return e.files > 0 || len(e.bits) > 0 || r.owner.Attached(e)
}

func (r *Registry[S]) destroy(e *Event[S]) {
	delete(r.byName, e.Decl.Name)
	r.owner.Destroy(e)
}

// findOrCreate returns the event of a command, which it makes unless there is one.
func (r *Registry[S]) findOrCreate(command string) (*Event[S], error) {
	d, err := tracepoint.Parse(command)
	if err != nil {
		return nil, errno.EINVAL
	}
	if e := r.byName[d.Name]; e != nil {
		if !r.keeps && !e.Decl.Equal(d) {
			return nil, errno.EADDRINUSE
		}
		return e, nil
	}
	e := &Event[S]{Decl: d, id: r.nextID, fixed: d.FixedSize(), dynamic: locations(d.Fields)}
	if err := r.owner.Create(e); err != nil {
		return nil, err
	}
	r.nextID++
	r.byName[d.Name] = e
	return e, nil
}
