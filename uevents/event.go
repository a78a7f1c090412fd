package uevents

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"
	"weak"

	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// never is the word of events that cannot be enabled: it is always zero.
var never atomic.Uintptr

// Event is a registered event. Its methods may be called concurrently, also during and
// after [Provider.Close]. Events come from [Provider.Register].
type Event struct {
	// Enabled reads these two and nothing else. The pointer changes once, to &never, when
	// the event is closed. Nothing that writers change is on their cache line.
	word atomic.Pointer[atomic.Uintptr]
	mask uintptr

	index uint32
	empty []byte // what is written for a payload of no bytes; never changed
	// Sizes of the shortest and the longest record, with the write index.
	shortest, longest int

	p        *Provider
	reg      *registration // nil if the event could not be registered
	decl     tracepoint.Declaration
	conflict error // why the event has a hashed name
}

// EventStats counts what became of the records of an event, for [Event.WriteRecord] and for the adapters of this module.
// Calls while the event is disabled are not counted. The counts are since the event was registered.
type EventStats struct {
	Written  uint64 // the kernel, or the ring of a tool, took the record while a tracing tool was attached
	Disabled uint64 // the event was disabled between the enabled check and the write
	Refused  uint64 // by the kernel, or above the limit, or shorter than the fixed fields

	// Truncated counts the written records of which an adapter cut or dropped texts or attributes to fit the limit.
	// WriteRecord truncates none.
	Truncated uint64
	// Unconverted counts attributes with the key of a declared field but a value that the field cannot hold. They are in the
	// field attributes instead. Only adapters with declared records count them.
	Unconverted uint64
	// Matched reports whether an adapter got a record for the event of a declaration while an event that it belongs to was
	// enabled. If it stays false, the name in the declaration may be misspelt.
	Matched bool
}

// Add returns the sums of both counts.
func (n EventStats) Add(more EventStats) EventStats {
	n.Written += more.Written
	n.Disabled += more.Disabled
	n.Refused += more.Refused
	n.Truncated += more.Truncated
	n.Unconverted += more.Unconverted
	n.Matched = n.Matched || more.Matched
	return n
}

// Enabled reports whether the event is enabled: a tracing tool is attached. It is one load and one branch, takes
// no lock, and returns false after the event or its provider was closed.
func (e *Event) Enabled() bool {
	// Zero first, which saves the disabled path the load of the mask. One expression, since
	// the compiler marks inlined statements with a no-op each.
	return e.word.Load().Load() != 0 && e.bit()
}

func (e *Event) bit() bool { return e.word.Load().Load()&e.mask != 0 }

// WriteRecord publishes one record with one system call. The first [IndexSize] bytes of rec are
// reserved: they are overwritten with the write index. The payload follows. WriteRecord does not retain rec, does
// not block and does not allocate, unless the kernel refuses the payload. Concurrent calls need a buffer each; they
// change no common memory, except for the few whose buffers happen to be counted together.
//
// It reports whether the kernel took the record while a tracing tool was attached. When the event is disabled, it
// writes nothing and returns no error. The error is [ErrTooLarge], [ErrShortBuffer], [ErrClosed] after
// Close, all three as they are, or an [*Error] with the event's name and the kernel's errno: EFAULT for a dynamic
// field whose location points outside of the payload, or a text among them that does not end in a NUL; EBADF if other
// code of the program has closed the provider's descriptor.
func (e *Event) WriteRecord(rec []byte) (written bool, err error) {
	if !e.bit() {
		if e.p.closed.Load() || e.reg != nil && e.reg.closed.Load() {
			return false, ErrClosed
		}
		return false, nil
	}
	reg, n := e.reg, len(rec)
	if n < e.shortest {
		reg.writes.refused.Add(1)
		return false, ErrShortBuffer
	}
	if n > e.longest {
		reg.writes.refused.Add(1)
		return false, ErrTooLarge
	}
	t := reg.writes.at(rec) // count first: below, rec may become e.empty, which all writers share
	if n == IndexSize {
		rec = e.empty
	} else {
		binary.NativeEndian.PutUint32(rec, e.index)
	}
	// The backend may be used from here on, unless the registration is closed, until the write is counted or aborted.
	t.begun.Add(1)
	if reg.closed.Load() {
		reg.abort(t)
		return false, ErrClosed
	}
	if err := reg.backend.Write(rec); err != nil {
		return false, e.writeError(t, err)
	}
	t.written.Add(1)
	if reg.closed.Load() {
		reg.res.drain(reg)
	}
	return true, nil
}

// writeError counts a write that failed. EBADF is the kernel's answer for a disabled event, and for a descriptor that other
// code of the program has closed.
func (e *Event) writeError(t *tally, err error) error {
	reg := e.reg
	lost := reg.backend.Lost() // before the last writer in flight closes it
	reg.abort(t)
	if errors.Is(err, errno.EBADF) && !lost {
		reg.writes.disabled.Add(1)
		return nil
	}
	reg.writes.refused.Add(1)
	return &Error{Op: "write", Name: e.decl.Name, Err: err, Remedy: remedyWrite(err)}
}

// Close unregisters the event; [Provider.Close] does so for all. The kernel removes an event that is not persistent a
// moment after all its providers were closed and all tools detached. Close may be called more than once.
func (e *Event) Close() error {
	if e.reg == nil {
		return nil
	}
	e.p.abandon(e)
	return e.p.res.close(e.reg)
}

// Declaration returns the name and fields that the event was registered with; see [Event.Name]. The caller must
// not change Fields.
func (e *Event) Declaration() tracepoint.Declaration { return e.decl }

// Name returns the name that the event was registered with. It differs from the one asked for where the
// [Naming] policy added a hash.
func (e *Event) Name() string { return e.decl.Name }

// MaxPayload returns the largest payload in bytes that WriteRecord accepts.
func (e *Event) MaxPayload() int { return e.longest - IndexSize }

// Stats returns the event's counts.
func (e *Event) Stats() EventStats {
	if e.reg == nil {
		return EventStats{}
	}
	w := &e.reg.writes
	return EventStats{
		Written:  w.written(),
		Disabled: w.disabled.Load(),
		Refused:  w.refused.Load(),
	}
}

// writes counts the writes of a registration, and tells whether any is in flight. A write that the kernel takes changes
// nothing but a tally, and few writers share one: a cache line that several CPUs change moves between them with each
// record.
type writes struct {
	tallies []tally // of each stripe one, perStripe apart
	mask    uint64  // has the bits of an index of tallies

	_ [64]byte // keeps what follows off the cache line that each write reads
	// Writes that were not written; some of those that were refused did not begin.
	disabled, refused atomic.Uint64
}

// tally counts the writes of one registration on one stripe.
type tally struct {
	begun   atomic.Uint64 // without those that failed: greater than written by the writes in flight
	written atomic.Uint64
}

const (
	// stripeSize is the size of a stripe in bytes: two cache lines, since processors fetch them in pairs.
	stripeSize = 128
	tallySize  = 16
	perStripe  = stripeSize / tallySize

	// Writers choose stripes without knowing of each other. More stripes than CPUs make it rare that
	// two choose the same.
	stripesPerCPU = 4
	maxStripes    = 64
)

// tallies hands out the tallies of a provider's registrations. Registrations share stripes, so that each takes no more
// memory than its tallies.
type tallies struct {
	block []tally // all stripes for perStripe registrations
	used  int     // how many of them have their tallies
}

func (t *tallies) take() writes {
	if t.block == nil || t.used == perStripe {
		stripes := 1 << bits.Len(uint(min(maxStripes, stripesPerCPU*runtime.GOMAXPROCS(0))-1))
		t.block, t.used = make([]tally, stripes*perStripe), 0
	}
	t.used++
	return writes{tallies: t.block[t.used-1:], mask: uint64(len(t.block) - perStripe)}
}

func (w *writes) at(rec []byte) *tally {
	const indexes = maxStripes * perStripe
	return &w.tallies[bufpool.Spread(rec)/(math.MaxUint64/indexes+1)&w.mask]
}

func (w *writes) written() (n uint64) {
	for i := 0; i < len(w.tallies); i += perStripe {
		n += w.tallies[i].written.Load()
	}
	return n
}

// inFlight reports whether a writer may be about to use the backend. Once the registration
// is closed, a false answer is final: a writer that begins later sees that it is closed.
func (w *writes) inFlight() bool {
	for i := 0; i < len(w.tallies); i += perStripe {
		// In this order: written only grows, so if begun has the same value a moment later, no write was in flight then.
		written := w.tallies[i].written.Load()
		if w.tallies[i].begun.Load() != written {
			return true
		}
	}
	return false
}

// abort takes back the beginning of a write that was not written. The last writer in flight after a Close closes the
// backend.
func (reg *registration) abort(t *tally) {
	t.begun.Add(^uint64(0))
	if reg.closed.Load() {
		reg.res.drain(reg)
	}
}

// several is the word of groups whose events are in more than one word: it is never zero.
var several = func() *atomic.Uintptr {
	w := new(atomic.Uintptr)
	w.Store(1)
	return w
}()

// Group is a set of events of one provider that a program asks about together: is any of
// them enabled? Events join groups at registration, by [EventOptions].
//
// On Linux 6.4 and later the events of a group share enable words, a bit each, of 64 events
// on 64-bit machines and 32 on others. While all are disabled, the check takes one load and
// one branch for the events of one word, and two loads more for each further word. Before
// Linux 6.4 the kernel assigns the status words; the check loads each word in use, normally
// one.
//
// Groups come from [Provider.NewGroup]. Methods may be called concurrently.
type Group struct {
	word  atomic.Pointer[atomic.Uintptr] // of the events: &never without events, &several if there are more words
	pairs atomic.Pointer[pair]           // all words with masks; read if word is not zero

	provider weak.Pointer[Provider] // weak: resources refer to groups, and must not keep the provider

	// Of all that follows the provider's resources.mu is the lock.
	own     []*sharedWord // words of the events whose first group this is; not of the status generations
	members map[place]int // how many of the group's registrations have the place
	places  []place       // the same by words
}

// place is a bit of an enable word that is set while an event is enabled, or several bits.
type place struct {
	word *atomic.Uintptr
	mask uintptr
}

// pair is two words in a list that does not change. Two at a time take fewer instructions
// than one.
type pair struct {
	a, b         *atomic.Uintptr // b is &never at the end of an odd number
	aMask, bMask uintptr
	next         *pair
	last         bool // no next; takes an instruction less to test than next
}

// noWords is the list of a group without events.
var noWords = pair{a: &never, b: &never, last: true}

// NewGroup returns a group without events, which is not enabled.
func (p *Provider) NewGroup() *Group {
	if p == nil {
		p = noProvider
	}
	g := &Group{provider: weak.Make(p), members: map[place]int{}}
	g.publish()
	return g
}

// Enabled reports whether any event of the group is enabled. It calls nothing, so that a
// function that does nothing else needs no stack.
func (g *Group) Enabled() bool { return g.word.Load().Load() != 0 && g.pairs.Load().anyBit() }

// anyBit reports whether the bit of any event of the list is set. It tests for words that are not zero first, which takes
// fewer instructions, and is a function of its own, so that Enabled is one expression: the compiler keeps the result of
// statements in a register and tests it again.
func (p *pair) anyBit() bool {
	for {
		if a, b := p.a.Load(), p.b.Load(); a|b != 0 && a&p.aMask|b&p.bMask != 0 {
			return true
		}
		if p.last {
			return false
		}
		p = p.next
	}
}

// join makes the checks look at an event.
func (g *Group) join(m place) {
	g.members[m]++
	if g.members[m] > 1 {
		return // the status generations have one place for all registrations of an event
	}
	i := slices.IndexFunc(g.places, func(p place) bool { return p.word == m.word })
	if i < 0 {
		i = len(g.places)
		g.places = append(g.places, place{word: m.word})
	}
	g.places[i].mask |= m.mask
	g.publish()
}

// leave undoes join.
func (g *Group) leave(m place) {
	g.members[m]--
	if g.members[m] > 0 {
		return
	}
	delete(g.members, m)
	i := slices.IndexFunc(g.places, func(p place) bool { return p.word == m.word })
	if g.places[i].mask &^= m.mask; g.places[i].mask == 0 {
		g.places = slices.Delete(g.places, i, i+1)
	}
	g.publish()
}

// publish makes the checks look at g.places.
func (g *Group) publish() {
	var list *pair
	for two := range slices.Chunk(g.places, 2) {
		list = &pair{a: two[0].word, aMask: two[0].mask, b: &never, next: list, last: list == nil}
		if len(two) > 1 {
			list.b, list.bMask = two[1].word, two[1].mask
		}
	}
	if list == nil {
		list = &noWords
	}
	g.pairs.Store(list)
	switch len(g.places) {
	case 0:
		g.word.Store(&never)
	case 1:
		g.word.Store(g.places[0].word)
	default:
		g.word.Store(several)
	}
}
