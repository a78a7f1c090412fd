// Package ring is a ring of records in shared memory: a program's goroutines write, one tool reads, and neither can harm
// the other. docs/wire-formats.md describes the records.
package ring

import (
	"sync/atomic"
	"unsafe"

	"github.com/userevents/userevents-go/internal/memory/layout"
)

// HeaderSize is the number of bytes before a payload: mark u64, length u32, event u32, time u64.
const HeaderSize = 24

const (
	align   = 8
	padding = 1       // added to the mark of the bytes between the last record of a lap and the end of the ring
	closed  = 1 << 63 // added to a head's position when its session has ended

	callersShift = 16 // of the number of return addresses, in the u32 of the event
)

// Size returns how many bytes of a ring a record takes.
func Size(payload int) uint64 { return uint64(payload+HeaderSize+align-1) &^ (align - 1) }

// Writer writes to the rings of one session. Its methods may be called concurrently, but for those that say otherwise.
type Writer struct {
	rings [layout.Rings]writerRing
	last  int // index of the last ring in use: a mask
	size  uint64
	key   uint64
	ended atomic.Bool

	_      [64]byte
	losing atomic.Int64 // calls of Lose that may be about to count
}

type writerRing struct {
	head *layout.Head
	tail *atomic.Uint64 // the tool's: it can have any value
	data unsafe.Pointer
}

// NewWriter begins a session whose rings are those of the heads and of the memory, which all earlier writers have left; see
// [Writer.Quiet]. The number of rings and their size are powers of two. The key is random.
func NewWriter(heads *[layout.Rings]layout.Head, tails *[layout.Rings]layout.Tail, data []byte, size uint64, rings int, key uint64) *Writer {
	w := &Writer{last: rings - 1, size: size, key: key}
	for i := range rings {
		head := &heads[i]
		// A position that no earlier writer can have seen, so that none takes room of this session.
		start := (head.Position.Load()&^closed + size) &^ (size - 1)
		head.Start = start
		head.Done.Store(start)
		tails[i].Position.Store(start)
		head.Position.Store(start)
		part := data[uint64(i)*size:][:size]
		w.rings[i] = writerRing{head, &tails[i].Position, unsafe.Pointer(&part[0])}
	}
	return w
}

// Room is the place of a record in a ring. It is used for [Room.Commit], once.
type Room struct {
	at   unsafe.Pointer
	mark uint64
	head *layout.Head
	size uint64 // with the padding before it
}

// Answer is what became of [Writer.Reserve].
type Answer uint8

// The answers. The caller counts a record that found no room with [Writer.Lose].
const (
	Reserved Answer = iota
	Full
	Ended // the session has ended: the caller looks for the next one
)

// Reserve takes room of a size in the ring of a processor. The time of the record has to be read afterwards: then a tool that has
// read up to the head knows that nothing older will come.
func (w *Writer) Reserve(processor int, need uint64) (Room, Answer) {
	r := &w.rings[uint(processor&w.last)%layout.Rings]
	mask := w.size - align // a position is a multiple of it, unless memory without seals was changed
	if need > w.size/2 {
		return Room{}, Full
	}
	for again := 0; ; {
		// The tail first: that of an honest tool is then never ahead of the head.
		tail := r.tail.Load()
		head := r.head.Position.Load()
		if w.ended.Load() { // after the head: it may be that of the next session
			return Room{}, Ended
		}
		pad := uint64(0)
		if left := w.size - head&mask; left < need {
			pad = left
		}
		// One comparison for positions that are behind, ahead or nonsense.
		if head+pad+need-tail > w.size {
			// The tool may have gone on since, and other writers with it. It could do so for ever.
			if again < 3 && r.tail.Load() != tail {
				again++
				continue
			}
			return Room{}, Full
		}
		if !r.head.Position.CompareAndSwap(head, head+pad+need) {
			continue
		}
		if pad > 0 {
			mark(r.at(head, mask)).Store(w.key + head + padding)
			head += pad
		}
		return Room{at: r.at(head, mask), mark: w.key + head, head: r.head, size: pad + need}, Reserved
	}
}

func (r *writerRing) at(position, mask uint64) unsafe.Pointer {
	return unsafe.Add(r.data, position&mask)
}

func mark(at unsafe.Pointer) *atomic.Uint64 { return (*atomic.Uint64)(at) }

// Commit writes the record. The mark, which is the last of it, is what makes the record written.
func (r *Room) Commit(event uint32, time uint64, payload []byte) {
	*(*uint32)(unsafe.Add(r.at, 8)) = uint32(len(payload))
	*(*uint32)(unsafe.Add(r.at, 12)) = event
	*(*uint64)(unsafe.Add(r.at, 16)) = time
	copy(unsafe.Slice((*byte)(unsafe.Add(r.at, HeaderSize)), len(payload)), payload)
	mark(r.at).Store(r.mark)
	r.head.Done.Add(r.size)
}

// CommitCallers is Commit for a record with return addresses, which are part of its size.
func (r *Room) CommitCallers(event uint32, time uint64, callers []uintptr, payload []byte) {
	for i, pc := range callers {
		*(*uint64)(unsafe.Add(r.at, HeaderSize+8*i)) = uint64(pc)
	}
	behind := 8 * len(callers)
	copy(unsafe.Slice((*byte)(unsafe.Add(r.at, HeaderSize+behind)), len(payload)), payload)
	*(*uint32)(unsafe.Add(r.at, 8)) = uint32(behind + len(payload))
	*(*uint32)(unsafe.Add(r.at, 12)) = event | uint32(len(callers))<<callersShift
	*(*uint64)(unsafe.Add(r.at, 16)) = time
	mark(r.at).Store(r.mark)
	r.head.Done.Add(r.size)
}

// Lose adds a record to a counter of this session, and returns the sum. It counts nothing, and returns 0, if the session has ended.
func (w *Writer) Lose(counter *atomic.Uint64) (n uint64) {
	w.losing.Add(1)
	if !w.ended.Load() {
		n = counter.Add(1)
	}
	w.losing.Add(-1)
	return n
}

// End ends the session: no call takes room any more, nor counts. Calls that have taken some may still write; see [Writer.Quiet].
func (w *Writer) End() {
	w.ended.Store(true)
	for i := range w.last + 1 {
		w.rings[i].head.Position.Or(closed)
	}
}

// Quiet reports, after End, whether the last call has left the session.
func (w *Writer) Quiet() bool {
	if w.losing.Load() != 0 {
		return false
	}
	for i := range w.last + 1 {
		if head := w.rings[i].head; head.Done.Load() != head.Position.Load()&^closed {
			return false
		}
	}
	return true
}
