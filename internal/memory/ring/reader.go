package ring

import (
	"sync/atomic"
	"unsafe"

	"github.com/userevents/userevents-go/internal/memory/layout"
)

// Record is what comes with the content of a record.
type Record struct {
	Event   uint32
	Time    uint64 // CLOCK_MONOTONIC of the program, in nanoseconds
	Callers int    // return addresses at the beginning of the content, 8 bytes each, innermost first
}

// Reader reads one ring of a session. It believes nothing that the program writes: it stays inside of the ring, reads each
// length once, and copies.
type Reader struct {
	head *layout.Head
	tail *atomic.Uint64
	data unsafe.Pointer
	size uint64
	key  uint64
	at   uint64
	from uint64 // what Release has stored: the program has written at most a lap behind it

	// Malformed says that a record was longer than its room can be, or shorter than its return addresses. The reader then reads
	// nothing more from the ring.
	Malformed bool
}

// NewReader returns a reader of a ring of the size, from the session's start.
func NewReader(head *layout.Head, tail *layout.Tail, data []byte, size, key uint64) *Reader {
	start := head.Start &^ (align - 1)
	return &Reader{head: head, tail: &tail.Position, data: unsafe.Pointer(&data[:size][0]), size: size, key: key, at: start, from: start}
}

// Head returns the position up to which the program has taken room.
func (r *Reader) Head() uint64 { return r.head.Position.Load() &^ closed }

// Position returns how far the reader has come.
func (r *Reader) Position() uint64 { return r.at }

// Next appends the content of the next record, which is its return addresses and its payload, to dst. It returns false if there is none
// that is complete, or if a lap was read since Release.
func (r *Reader) Next(dst []byte) (_ []byte, rec Record, ok bool) {
	mask := r.size - 1
	for range 2 { // padding, and a record behind it
		if r.Malformed || r.at-r.from >= r.size {
			break
		}
		at := unsafe.Add(r.data, r.at&mask)
		switch mark(at).Load() - r.key {
		case r.at + padding:
			r.at += r.size - r.at&mask
			continue
		case r.at:
		default:
			return dst, Record{}, false
		}
		n := atomic.LoadUint32((*uint32)(unsafe.Add(at, 8)))
		need := Size(int(n))
		if uint64(n) > r.size || r.at&mask+need > r.size || r.at-r.from+need > r.size {
			r.Malformed = true
			break
		}
		event := atomic.LoadUint32((*uint32)(unsafe.Add(at, 12)))
		rec.Callers = int(event >> callersShift)
		if 8*rec.Callers > int(n) {
			r.Malformed = true
			break
		}
		rec.Event = event & (1<<callersShift - 1)
		rec.Time = atomic.LoadUint64((*uint64)(unsafe.Add(at, 16)))
		dst = append(dst, unsafe.Slice((*byte)(unsafe.Add(at, HeaderSize)), n)...)
		r.at += need
		return dst, rec, true
	}
	return dst, Record{}, false
}

// Release gives the program the room of all that was read.
func (r *Reader) Release() {
	r.from = r.at
	r.tail.Store(r.at)
}

// Skip goes to the next complete record behind one that is not, and reports whether there is one. It is for a program that has
// ended: in a running one, the record will be completed.
func (r *Reader) Skip() bool {
	left := min(r.Head()-r.from, r.size)
	for at := r.at + align; at-r.from < left && !r.Malformed; at += align {
		switch mark(unsafe.Add(r.data, at&(r.size-1))).Load() - r.key {
		case at, at + padding:
			r.at = at
			return true
		}
	}
	return false
}
