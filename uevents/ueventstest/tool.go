package ueventstest

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/userevents/userevents-go/tracepoint"
)

// Record is one event that a tracing tool recorded.
type Record struct {
	Event string // the tracepoint's name, in [tracepoint.System]

	// Declaration is what the event was registered as, for a decoder. Do not change its Fields.
	Declaration tracepoint.Declaration

	// Payload is what the program wrote behind the write index. It belongs to the caller.
	// A real tool adds up to 7 bytes of padding behind it, and 8 bytes of common fields
	// before it.
	Payload []byte

	Time time.Time
	// Seq numbers the writes of a kernel, from 1. The copies of one write have the same
	// number.
	Seq uint64
}

// Tool stands for a tracing tool that is attached to events, with a buffer of its own. Its methods may be called
// concurrently.
type Tool struct {
	k      *Kernel
	kind   Kind
	events []*event // by slot

	// Guarded by k.recording.
	waiting   []chan struct{} // of the calls of Next that wait; closed when there may be something new
	ring      ring
	lost      uint64
	oversized uint64
	detached  bool
}

// keep stores a record. It is called with k.recording held.
func (t *Tool) keep(s stamp, slot uint32, payload []byte) {
	h := header{stamp: s, slot: slot, length: uint32(len(payload))}
	for t.kind == Ftrace && !t.ring.fits(len(payload)) && t.ring.drop() {
		t.lost++
	}
	if !t.ring.fits(len(payload)) {
		t.lost++
		return
	}
	t.ring.push(h, payload)
	t.signal()
}

// signal wakes the calls of Next. It is called with k.recording held.
func (t *Tool) signal() {
	for _, wake := range t.waiting {
		close(wake)
	}
	t.waiting = nil
}

// Records takes all records out of the buffer and returns them, oldest first. It does not
// wait.
func (t *Tool) Records() []Record {
	t.k.recording.Lock()
	defer t.k.recording.Unlock()
	var out []Record
	for {
		h, payload, ok := t.ring.pop()
		if !ok {
			return out
		}
		out = append(out, t.decode(h, payload))
	}
}

// Next takes the oldest record out of the buffer and waits for one if there is none. It
// returns [io.EOF] when the buffer is empty and the tool detached, and else the error of
// ctx. In a bubble of testing/synctest it is durably blocked while it waits, and needs a writer of the bubble.
func (t *Tool) Next(ctx context.Context) (Record, error) {
	t.k.recording.Lock()
	defer t.k.recording.Unlock()
	for {
		if h, payload, ok := t.ring.pop(); ok {
			return t.decode(h, payload), nil
		}
		if t.detached {
			return Record{}, io.EOF
		}
		wake := make(chan struct{}) // of this call alone, so that none stays behind in a tool when a bubble ends
		t.waiting = append(t.waiting, wake)
		t.k.recording.Unlock()
		var err error
		select {
		case <-wake:
		case <-ctx.Done():
			err = ctx.Err()
		}
		t.k.recording.Lock()
		if err != nil {
			t.waiting = slices.DeleteFunc(t.waiting, func(w chan struct{}) bool { return w == wake })
			return Record{}, err
		}
	}
}

func (t *Tool) decode(h header, payload []byte) Record {
	e := t.events[h.slot]
	return Record{
		Event:       e.Decl.Name,
		Declaration: e.Decl,
		Payload:     payload,
		Time:        time.Unix(0, h.nanos),
		Seq:         h.seq,
	}
}

// Lost returns how many records the tool lost since it was attached because its buffer
// was full.
func (t *Tool) Lost() uint64 {
	t.k.recording.Lock()
	defer t.k.recording.Unlock()
	return t.lost
}

// Oversized returns how many writes were larger than this kind of tool keeps. The program
// was told that they succeeded. A real kernel does not count them.
func (t *Tool) Oversized() uint64 {
	t.k.recording.Lock()
	defer t.k.recording.Unlock()
	return t.oversized
}
