package ueventstest

import (
	"context"
	"io"
	"path"
	"slices"
	"time"

	"github.com/userevents/userevents-go/tracepoint"
)

// Kind is a kind of tracer.
type Kind uint8

const (
	// Ftrace is what trace-cmd and the files of tracefs use. It keeps payloads of up to
	// [FtraceMaxPayload] bytes. When its buffer is full, the oldest records go.
	Ftrace Kind = iota
	// Perf is what perf record uses. It keeps payloads of up to [PerfMaxPayload]
	// bytes. When its buffer is full, the newest records are dropped.
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
		return PerfMaxPayload
	}
	return FtraceMaxPayload
}

// Record is one event that a tracer recorded.
type Record struct {
	System string // the tracepoint's: [tracepoint.System] or [tracepoint.MultiSystem]
	Event  string // the tracepoint's name

	// Declaration is what the event was registered as, for a decoder. It has no
	// fields if package tracepoint would not have accepted them. Do not change its Fields.
	Declaration tracepoint.Declaration

	// Payload is what the program wrote behind the write index. It belongs to the
	// caller. Real tracers add up to 7 bytes of padding behind it, and 8 bytes of
	// common fields before it.
	Payload []byte

	Time time.Time
	// Seq numbers the writes of a kernel, from 1. The copies of one write have the same number.
	Seq uint64
}

// Tracer is somebody who traces events, with a buffer of his own. Its methods may be called
// concurrently.
type Tracer struct {
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

// probe is a tracer's place at an event.
type probe struct {
	tracer *Tracer
	slot   uint32
}

// Attach attaches a tracer to events, which become enabled. Each name is a tracepoint's,
// such as "myapp_info", or with its system, "user_events_multi:myapp_info.0". The patterns of
// [path.Match] are allowed. Events that are registered later are not attached, even if a pattern matches.
//
// If a name matches no event, nothing is attached and the error is ENOENT. On a closed kernel it
// is ENODEV. Detach the tracer, or let [Kernel.Close] do it.
func (k *Kernel) Attach(kind Kind, names ...string) (*Tracer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, errNoDev
	}
	t := &Tracer{k: k, kind: kind, wake: make(chan struct{}, 1)}
	all := k.events()
	for _, name := range names {
		found := false
		for _, e := range all {
			match, err := e.matches(name)
			if err != nil {
				return nil, err
			}
			found = found || match
			if match && !slices.Contains(t.events, e) {
				t.events = append(t.events, e)
			}
		}
		if !found {
			return nil, errNoEnt
		}
	}
	t.ring.buf = make([]byte, k.bufferSize)
	k.tracers[t] = struct{}{}
	for i, e := range t.events {
		e.setProbes(append(slices.Clip(e.attached()), probe{t, uint32(i)}))
		k.update(e)
	}
	return t, nil
}

func (e *event) matches(pattern string) (bool, error) {
	full := e.system + ":" + e.name
	if pattern == e.name || pattern == full {
		return true, nil
	}
	match, err := path.Match(pattern, e.name)
	if match || err != nil {
		return match, err
	}
	return path.Match(pattern, full)
}

func (e *event) setProbes(p []probe) {
	if len(p) == 0 {
		e.probes.Store(nil)
	} else {
		e.probes.Store(&p)
	}
}

// Detach detaches the tracer from all its events. When it returns, nothing more is recorded; what was
// recorded can still be read. A second Detach does nothing.
func (t *Tracer) Detach() {
	t.k.mu.Lock()
	defer t.k.mu.Unlock()
	t.k.detach(t)
}

// detach is called with k.mu held.
func (k *Kernel) detach(t *Tracer) {
	if _, attached := k.tracers[t]; !attached {
		return
	}
	delete(k.tracers, t)
	for _, e := range t.events {
		rest := slices.Clone(e.attached())
		e.setProbes(slices.DeleteFunc(rest, func(p probe) bool { return p.tracer == t }))
		k.update(e)
		k.release(e)
	}
	k.recording.Lock()
	t.detached = true
	k.recording.Unlock()
	t.signal()
}

// keep stores a record. It is called with k.recording held.
func (t *Tracer) keep(s stamp, slot uint32, payload []byte) {
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

func (t *Tracer) signal() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Records takes all records out of the buffer and returns them, oldest first. It does not wait.
func (t *Tracer) Records() []Record {
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
// returns [io.EOF] when the buffer is empty and the tracer detached, and else the error of ctx.
func (t *Tracer) Next(ctx context.Context) (Record, error) {
	for {
		t.k.recording.Lock()
		h, payload, ok := t.ring.pop()
		detached := t.detached
		t.k.recording.Unlock()
		if ok || detached {
			t.signal() // somebody else may be waiting
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

func (t *Tracer) decode(h header, payload []byte) Record {
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

// Lost returns how many records the tracer lost since it was attached because its buffer was full.
func (t *Tracer) Lost() uint64 {
	t.k.recording.Lock()
	defer t.k.recording.Unlock()
	return t.lost
}

// Oversized returns how many writes were larger than this kind of tracer keeps. The program was told that
// they succeeded. A real kernel does not count them.
func (t *Tracer) Oversized() uint64 {
	t.k.recording.Lock()
	defer t.k.recording.Unlock()
	return t.oversized
}
