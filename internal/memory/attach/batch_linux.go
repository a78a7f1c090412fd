package attach

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/userevents/userevents-go/internal/memory/ring"
	"github.com/userevents/userevents-go/tracepoint"
)

// Record is a record of a program. Its slices are valid until the next call that reads.
type Record struct {
	Source  *Source // nil if the session does not want it
	Event   uint32
	Time    uint64   // CLOCK_MONOTONIC, in nanoseconds
	Callers []uint64 // return addresses, innermost first
	// Raw is the payload behind the fields that the kernel puts before it, of which only common_pid is not 0. It is the process:
	// memory has no threads.
	Raw []byte
}

// Payload is what the program wrote.
func (r *Record) Payload() []byte { return r.Raw[tracepoint.CommonSize:] }

// batch holds copies of records until it is known that no older one will come.
type batch struct {
	bytes   []byte
	spare   []byte
	held    []held // in order of time, up to ready
	next    int    // of held
	ready   int
	callers []uint64
}

// held is a record whose bytes are the common fields, return addresses and payload.
type held struct {
	s              *Session
	time           uint64
	begin, end     int // in bytes
	event, callers uint32
}

// size is about what a record takes here, and at least what it takes in its ring.
func (h *held) size() int { return h.end - h.begin + ring.HeaderSize }

// collect copies what is complete in a ring, which is younger than no moment after now.
func (b *batch) collect(s *Session, r *ring.Reader, now uint64) {
	for {
		begin := len(b.bytes)
		content, rec, ok := r.Next(append(b.bytes, 0, 0, 0, 0, 0, 0, 0, 0))
		if !ok {
			b.bytes = content[:begin]
			return
		}
		if rec.Time -= uint64(s.p.ahead); rec.Time > now {
			rec.Time = min(rec.Time, Now())
		}
		rec.Time = max(rec.Time, 1) // 0 is no time
		if s.o.Limit > 0 {
			if src := s.source(rec.Event); src != nil {
				src.limited.enabled = max(src.limited.enabled, rec.Time)
			}
		}
		b.bytes = content
		b.held = append(b.held, held{s, rec.Time, begin, len(content), rec.Event, uint32(rec.Callers)})
		s.held += b.held[len(b.held)-1].size()
	}
}

// release makes the records ready that are not younger than a time.
func (b *batch) release(until uint64) {
	byTime := func(x, y held) int { return cmp.Compare(x.time, y.time) }
	if list := b.held[b.next:]; !slices.IsSortedFunc(list, byTime) {
		slices.SortStableFunc(list, byTime)
	}
	n, _ := slices.BinarySearchFunc(b.held[b.next:], until, func(h held, t uint64) int {
		if h.time <= t {
			return -1
		}
		return 1
	})
	b.ready = b.next + n
}

func (b *batch) take(r *Record) bool {
	if b.next == b.ready {
		return false
	}
	h := &b.held[b.next]
	b.next++
	h.s.held -= h.size()
	b.callers = b.callers[:0]
	raw := b.bytes[h.begin:h.end:h.end]
	for range h.callers {
		b.callers = append(b.callers, binary.NativeEndian.Uint64(raw[tracepoint.CommonSize:]))
		raw = raw[8:]
	}
	clear(raw[:tracepoint.CommonSize])
	binary.NativeEndian.PutUint32(raw[4:], uint32(h.s.p.pid))
	*r = Record{h.s.source(h.event), h.event, h.time, b.callers, raw}
	if r.Source == nil || r.Source.off {
		h.s.unwanted = true
	}
	return true
}

func (b *batch) compact() {
	if b.next == 0 {
		return
	}
	b.held = slices.Delete(b.held, 0, b.next)
	b.ready -= b.next
	b.next = 0
	// Records are in order of time, and their bytes in that of reading.
	if len(b.held) == 0 {
		b.bytes = b.bytes[:0]
		return
	}
	rest := b.spare[:0]
	for i := range b.held {
		h := &b.held[i]
		begin := len(rest)
		rest = append(rest, b.bytes[h.begin:h.end]...)
		h.begin, h.end = begin, len(rest)
	}
	b.spare, b.bytes = b.bytes, rest
}
