// Package registry is the kernel's list of user_events: their names and fields, what holds each of them, and the enable bits that
// follow them. The shared memory of a program and the simulated kernel of package ueventstest are registries with
// tracing tools of their own.
package registry

import (
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
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

// File is an open user_events_data of a registry, without the words and the writing of [backend.Backend].
type File[S any] struct {
	r *Registry[S]
	// events are those registered through the file, by write index; nil when the file is closed. Writers read it
	// without a lock; a registration replaces the slice.
	events atomic.Pointer[[]*Event[S]]
}

// Open returns a file without events.
func (r *Registry[S]) Open() *File[S] {
	f := &File[S]{r: r}
	f.events.Store(new([]*Event[S]))
	return f
}

// Register finds or makes the event of a request, and lets the request's bit follow it.
func (f *File[S]) Register(req backend.Request) (*Event[S], uint32, error) {
	f.r.Lock()
	defer f.r.Unlock()
	if f.Lost() {
		return nil, 0, errno.EBADF
	}
	if f.r.refuse != nil {
		return nil, 0, f.r.refuse
	}
	if req.Flags != 0 || req.Bit >= backend.WordBits { // as Linux 6.4 to 6.6, which know no flag
		return nil, 0, errno.EINVAL
	}
	bit := Bit{req.Word, req.Bit}
	if f.r.byBit[bit] != nil {
		return nil, 0, errno.EADDRINUSE
	}
	e, index, err := f.reference(req.Command)
	if err != nil || f.r.keeps {
		return e, index, err
	}
	if req.Word == nil {
		// An address that the kernel can't write to. The file holds the event all the same.
		return nil, 0, errno.ENOMEM
	}
	f.r.byBit[bit] = e
	e.bits = append(e.bits, bit)
	f.r.owner.Add(e, bit)
	return e, index, nil
}

// reference finds or makes the event of a command and gives it a write index of this file.
func (f *File[S]) reference(command string) (*Event[S], uint32, error) {
	e, err := f.r.findOrCreate(command)
	if err != nil {
		return nil, 0, err
	}
	events := *f.events.Load()
	if i := slices.Index(events, e); i >= 0 {
		return e, uint32(i), nil
	}
	events = append(slices.Clip(events), e)
	f.events.Store(&events)
	e.files++
	return e, uint32(len(events) - 1), nil
}

// Unregister lets a bit follow no event, and clears it.
func (f *File[S]) Unregister(word *atomic.Uintptr, bit uint8) error {
	f.r.Lock()
	defer f.r.Unlock()
	if f.Lost() {
		return errno.EBADF
	}
	if f.r.keeps {
		return nil
	}
	b := Bit{word, bit}
	e := f.r.byBit[b]
	if e == nil {
		return errno.ENOENT
	}
	delete(f.r.byBit, b)
	e.bits = slices.DeleteFunc(e.bits, func(o Bit) bool { return o == b })
	f.r.owner.Remove(e, b)
	f.r.Release(e)
	return nil
}

// Delete removes an event that nothing holds.
func (f *File[S]) Delete(name string) error {
	f.r.Lock()
	defer f.r.Unlock()
	e := f.r.byName[name]
	if e == nil {
		return errno.ENOENT
	}
	if f.r.busy(e) {
		return errno.EBUSY
	}
	f.r.destroy(e)
	return nil
}

// Fields returns the fields of an event.
func (f *File[S]) Fields(name string) (fields string, known bool) {
	f.r.Lock()
	defer f.r.Unlock()
	if e := f.r.byName[name]; e != nil {
		return e.Decl.FieldList(), true
	}
	return "", false
}

// AwaitRemoval returns false: events are removed at once.
func (f *File[S]) AwaitRemoval() bool { return false }

// Lost reports whether the file is closed.
func (f *File[S]) Lost() bool { return f.events.Load() == nil }

// Close releases the file's events. A second Close fails with EBADF.
func (f *File[S]) Close() error {
	f.r.Lock()
	defer f.r.Unlock()
	events := f.events.Swap(nil)
	if events == nil {
		return errno.EBADF
	}
	for _, e := range *events {
		e.files--
		f.r.Release(e)
	}
	return nil
}

// IndexSize is the number of bytes before the payload of what a program writes: a write index in host byte order.
const IndexSize = 4

// At returns the event of what a program writes, and nil if [File.Refused] has a reason. It is small enough to be inlined. The
// caller asks next whether the event is enabled, and then for [Event.Valid].
func (f *File[S]) At(buf []byte) *Event[S] {
	if events := f.events.Load(); events != nil && len(buf) >= IndexSize {
		if index := binary.NativeEndian.Uint32(buf); uint64(index) < uint64(len(*events)) {
			if e := (*events)[index]; len(buf)-IndexSize >= e.fixed {
				return e
			}
		}
	}
	return nil
}

// Refused returns the error for what At finds no event for. It answers in the kernel's order: the index first, then the size.
func (f *File[S]) Refused(buf []byte) error {
	events := f.events.Load()
	if events == nil {
		return errno.EBADF
	}
	if len(buf) < IndexSize {
		return errno.EFAULT
	}
	index := int32(binary.NativeEndian.Uint32(buf))
	if index >= 0 && (int(index) >= len(*events) || len(buf)-IndexSize >= (*events)[index].fixed) { // or it was registered since At looked
		return errno.ENOENT
	}
	return errno.EINVAL // a negative index, or a payload that is shorter than the fixed fields
}

// location is the location word of a dynamic field.
type location struct {
	at   int // of the word in the payload
	from int // what its offset counts from
	text bool
}

// locations lists the dynamic fields of an event.
func locations(fields []tracepoint.Field) (list []location) {
	at := 0
	for _, f := range fields {
		l := location{at: at, from: -tracepoint.CommonSize, text: f.Type.Kind == tracepoint.Char || f.Type.Kind == tracepoint.UChar}
		at += f.Type.FixedSize()
		switch f.Type.Location {
		case tracepoint.Fixed:
			continue
		case tracepoint.RelLoc:
			l.from = at
		}
		list = append(list, l)
	}
	return list
}

// Valid checks the locations of dynamic fields as the kernel does: their end must lie inside the payload and, for text, behind a
// NUL. The kernel does not check their beginning. The payload is that of a record that [File.At] has found the event of.
func (e *Event[S]) Valid(payload []byte) bool {
	for i := range e.dynamic {
		l := &e.dynamic[i]
		word := binary.NativeEndian.Uint32(payload[l.at:])
		end := l.from + int(word&0xffff) + int(word>>16)
		if end > len(payload) {
			return false
		}
		// A text that ends in the common fields, or before, depends on bytes which no program knows.
		if l.text && (end <= 0 || payload[end-1] != 0) {
			return false
		}
	}
	return true
}
