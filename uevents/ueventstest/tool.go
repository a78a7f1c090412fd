package ueventstest

import (
	"context"
	"io"
	"time"

	"github.com/userevents/userevents-go/tracepoint"
)

// Record is one event that a tracing tool recorded.
type Record struct {
	System string // the tracepoint's: [tracepoint.System] or [tracepoint.MultiSystem]
	Event  string // the tracepoint's name

	// Declaration is what the event was registered as, for a decoder. It has no fields if
	// package tracepoint would not have accepted them. Do not change its Fields.
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
	events []*event      // by slot
	wake   chan struct{} // has a token when there may be something new

	// Guarded by k.recording.
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

func (t *Tool) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
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
// ctx.
func (t *Tool) Next(ctx context.Context) (Record, error) {
	for {
		t.k.recording.Lock()
		h, payload, ok := t.ring.pop()
		detached := t.detached
		t.k.recording.Unlock()
		if ok || detached {
			t.signal() // another goroutine may be waiting
		}
		switch {
		case ok:
			return t.decode(h, payload), nil
		case detached:
			return Record{}, io.EOF
		}
		select {
		case <-t.wake:
		case <-ctx.Done():
			return Record{}, ctx.Err()
		}
	}
}

func (t *Tool) decode(h header, payload []byte) Record {
	e := t.events[h.slot]
	return Record{
		System:      e.system,
		Event:       e.name,
		Declaration: e.decl,
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
