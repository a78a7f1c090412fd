package ueventstest

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
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

// Kind is a kind of tracing tool.
type Kind uint8

const (
	// Ftrace is what trace-cmd and the files of tracefs use. It keeps payloads of up to
	// [tracepoint.MaxPayload] bytes. When its buffer is full, the oldest records are lost.
	Ftrace Kind = iota
	// Perf is what perf record uses. It keeps payloads of up to 8,184 bytes.
	// When its buffer is full, the newest records are lost.
	Perf
)

// String returns "ftrace" or "perf".
func (kind Kind) String() string {
	if kind == Perf {
		return "perf"
	}
	return "ftrace"
}

func (kind Kind) maxPayload() int {
	if kind == Perf {
		return perfMaxPayload
	}
	return tracepoint.MaxPayload
}

// probe is a tracing tool's place at an event.
type probe struct {
	tool *Tool
	slot uint32
}

// Attach attaches a tracing tool to events, which become enabled. Each name is a tracepoint's, such as "myapp_info",
// or has its system before it, as in "user_events:myapp_info". The patterns of [path.Match] are allowed. Events that
// are registered later are not attached, even if a pattern matches.
//
// If a name matches no event, nothing is attached and the error wraps ENOENT. On a closed
// kernel it wraps ENODEV, and for a malformed pattern [path.ErrBadPattern]. Detach the
// tool, or let [Kernel.Close] do it.
func (k *Kernel) Attach(kind Kind, names ...string) (*Tool, error) {
	k.events.Lock()
	defer k.events.Unlock()
	if k.closed {
		return nil, fmt.Errorf("ueventstest: attaching %s to a closed kernel: %w", kind, errno.ENODEV)
	}
	t := &Tool{k: k, kind: kind}
	for _, name := range names {
		matches, err := k.matching(name)
		if err != nil {
			return nil, fmt.Errorf("ueventstest: attaching %s to event %q: %w", kind, name, err)
		}
		for _, e := range matches {
			if !slices.Contains(t.events, e) {
				t.events = append(t.events, e)
			}
		}
	}
	t.ring.buf = make([]byte, k.bufferSize)
	k.tools[t] = struct{}{}
	for i, e := range t.events {
		e.State.setProbes(append(slices.Clip(e.State.attached()), probe{t, uint32(i)}))
		k.update(e)
	}
	return t, nil
}

// matching returns the events whose names a pattern matches.
func (k *Kernel) matching(name string) (found []*event, err error) {
	name = strings.TrimPrefix(name, tracepoint.System+":")
	for _, e := range k.events.Events() {
		match, err := path.Match(name, e.Decl.Name)
		if err != nil {
			return nil, err
		}
		if match {
			found = append(found, e)
		}
	}
	if found == nil {
		return nil, errno.ENOENT
	}
	return found, nil
}

// Detach detaches the tool from all its events. When it returns, nothing more is
// recorded; what was recorded can still be read. A second Detach does nothing.
func (t *Tool) Detach() {
	t.k.events.Lock()
	defer t.k.events.Unlock()
	t.k.detach(t)
}

// detach is called with the registry's lock held.
func (k *Kernel) detach(t *Tool) {
	if _, attached := k.tools[t]; !attached {
		return
	}
	delete(k.tools, t)
	for _, e := range t.events {
		rest := slices.Clone(e.State.attached())
		e.State.setProbes(slices.DeleteFunc(rest, func(p probe) bool { return p.tool == t }))
		k.update(e)
		k.events.Release(e)
	}
	k.recording.Lock()
	t.detached = true
	t.signal()
	k.recording.Unlock()
}
