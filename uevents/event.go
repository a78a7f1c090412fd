package uevents

import (
	"encoding/binary"
	"errors"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
)

// never is the word of events that cannot be enabled: it is always zero.
var never atomic.Uintptr

// Event is a registered event. Its methods may be called concurrently, also during and
// after [Provider.Close]. Events come from [Provider.Register]; the zero value is not
// usable.
type Event struct {
	// Enabled reads these two and nothing else. The pointer changes once, to &never, when
	// the event is closed. Nothing that writers change is on their cache line.
	word atomic.Pointer[atomic.Uintptr]
	mask uintptr

	index      uint32
	empty      []byte // what is written for a payload of no bytes; never changed
	fixedSize  int
	maxPayload int
	p          *Provider
	reg        *registration // nil if the event could not be registered
	decl       tracepoint.Declaration
	multi      bool
	persistent bool
}

// EventStats counts what became of [Event.Write]. Calls while nobody traced are not
// counted, so that they stay cheap.
type EventStats struct {
	Written  uint64 // the kernel took the event and gave it to the tracers
	Untraced uint64 // the last tracer detached between Enabled and the system call
	TooLarge uint64 // refused: above the limit
	Failed   uint64 // refused by the kernel, or shorter than the fixed fields
}

// Enabled reports whether anybody traces the event. It costs one load and one branch, takes
// no lock, and is false for ever after the event or its provider was closed.
func (e *Event) Enabled() bool {
	// Zero first, which saves the disabled path the load of the mask. One expression, since
	// the compiler marks inlined statements with a no-op each.
	return e.word.Load().Load() != 0 && e.bit()
}

func (e *Event) bit() bool { return e.word.Load().Load()&e.mask != 0 }

// Write publishes one event with one system call. The first [IndexSize] bytes of buf are
// overwritten with the write index, the payload follows. Write does not retain buf, does
// not block and does not allocate, unless the kernel refuses the payload.
//
// It returns nil when the kernel took the event while somebody traced it,
// [ErrNotTraced] when nobody does, [ErrTooLarge], [ErrShortBuffer], [ErrClosed], or an
// [*Error] with the kernel's errno: EFAULT for a dynamic text field that does not end in a
// NUL inside the payload, or whose location points outside of it.
func (e *Event) Write(buf []byte) error {
	if !e.Enabled() {
		if e.p.closed.Load() || e.reg != nil && e.reg.closed.Load() {
			return ErrClosed
		}
		return ErrNotTraced
	}
	reg, n := e.reg, len(buf)-IndexSize
	if n < e.fixedSize {
		reg.writes.short.Add(1)
		return ErrShortBuffer
	}
	if n > e.maxPayload {
		reg.writes.tooLarge.Add(1)
		return ErrTooLarge
	}
	if n == 0 {
		buf = e.empty
	} else {
		binary.NativeEndian.PutUint32(buf, e.index)
	}
	if !reg.begin() {
		reg.end(&reg.writes.late)
		return ErrClosed
	}
	if err := reg.res.backend.Write(buf); err != nil {
		return e.writeError(err)
	}
	reg.end(&reg.writes.written)
	return nil
}

// writeError ends a write that failed. The descriptor is open, since it is closed after the
// last writer only: EBADF is the answer of Linux 6.4 and later for a disabled event.
func (e *Event) writeError(err error) error {
	reg := e.reg
	if e.p.abi == ABIEnableAddress && errors.Is(err, errno.EBADF) {
		reg.end(&reg.writes.untraced)
		return ErrNotTraced
	}
	reg.end(&reg.writes.failed)
	return &Error{Op: "write", Name: e.decl.Name, Err: err}
}

// Close unregisters the event; [Provider.Close] does so for all. The kernel drops the event
// when its provider is closed too and no tracer is attached. Close may be called more than
// once.
func (e *Event) Close() error {
	if e.reg == nil {
		return nil
	}
	e.p.abandon(e)
	return e.p.res.close(e.reg)
}

// Declaration returns the name and fields that the kernel has. The name differs from the
// one asked for under [ConflictHash]. The caller must not change Fields.
func (e *Event) Declaration() tracepoint.Declaration { return e.decl }

// Name returns the name that the kernel has.
func (e *Event) Name() string { return e.decl.Name }

// MultiFormat reports whether the kernel registered the event under
// [tracepoint.MultiSystem], as [ConflictMultiFormat] asks; its tracepoint is then called NAME.<hexadecimal number>.
func (e *Event) MultiFormat() bool { return e.multi }

// Persistent reports whether the kernel keeps the event after its last user is gone. Before
// Linux 6.4 it keeps every event.
func (e *Event) Persistent() bool { return e.persistent }

// MaxPayload returns the largest payload in bytes that Write accepts.
func (e *Event) MaxPayload() int { return e.maxPayload }

// Stats returns the event's counts.
func (e *Event) Stats() EventStats {
	if e.reg == nil {
		return EventStats{}
	}
	w := &e.reg.writes
	return EventStats{
		Written:  w.written.Load(),
		Untraced: w.untraced.Load(),
		TooLarge: w.tooLarge.Load(),
		Failed:   w.failed.Load() + w.short.Load(),
	}
}
