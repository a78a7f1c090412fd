package perf

import "sync/atomic"

// ring is the memory that the kernel writes records into. The kernel moves head, the reader tail.
type ring struct {
	data       []byte // its length is a power of two
	head, tail *atomic.Uint64
}

// unread returns head, and how many bytes before it are not read.
func (r *ring) unread() (head, n uint64) {
	head = r.head.Load()
	return head, min(distance(r.tail.Load(), head), uint64(len(r.data)))
}

// free moves tail to n bytes before a position that head had.
func (r *ring) free(head, n uint64) {
	tail := head - n
	if head|r.tail.Load() < 1<<32 { // of a 32-bit kernel, see distance
		tail = uint64(uint32(tail))
	}
	r.tail.Store(tail)
}

// spare is the room that a ring has while no record can be lost: a record has 16 bits for its size, and its writer may be interrupted by
// three others.
const spare = 4 << 16

// overran reports whether records may have been lost since the reader last freed the room before a position, with which tail was
// there.
func (r *ring) overran(tail uint64) bool {
	return distance(tail, r.head.Load())+spare > uint64(len(r.data))
}

// distance returns the number of bytes between two positions. Those of 32-bit kernels wrap around at 4 GiB.
func distance(from, to uint64) uint64 {
	if from|to < 1<<32 {
		return uint64(uint32(to - from))
	}
	return to - from
}

// appendRange appends n bytes from a position, which may wrap around. It appends at most the size of the ring.
func (r *ring) appendRange(dst []byte, pos, n uint64) []byte {
	size := uint64(len(r.data))
	n = min(n, size)
	start := pos & (size - 1)
	first := min(n, size-start)
	dst = append(dst, r.data[start:start+first]...)
	return append(dst, r.data[:n-first]...)
}

// minOverwrite is the smallest size of an overwritten ring.
const minOverwrite = 64 << 10

// unsafePart is the size at the oldest end of an overwritten ring that writers may be changing before they move head: one
// record for each context. Records of tracepoints are at most 8 KiB (PERF_MAX_TRACE_SIZE).
const unsafePart = minOverwrite / 4

// newest appends the records of an overwritten ring that were written since head was seen, the newest first, and returns
// head. The kernel writes such a ring backward: each record precedes the older one, and head, which counts down from 0, is
// at the newest.
//
// The ring is not paused, since a paused ring loses all hits. If writers overwrite more than half of it meanwhile, it is
// copied again, a limited number of times.
func (r *ring) newest(dst []byte, seen uint64) (_ []byte, head uint64) {
	for range 5 {
		head = r.head.Load()
		dst = r.appendRange(dst[:0], head, distance(head, seen))
		if dst = dst[:r.unchanged(dst, head)]; distance(r.head.Load(), head) <= uint64(len(r.data)/2) {
			break
		}
	}
	return dst, head
}

// unchanged returns how many bytes of a copy, which begins at a position that head had before, no writer has changed.
func (r *ring) unchanged(b []byte, from uint64) int {
	var fence atomic.Uint32
	fence.Add(1) // else a CPU such as arm64 may load head before the copied bytes
	room := uint64(len(r.data) - unsafePart)
	return int(min(uint64(len(b)), room-min(room, distance(r.head.Load(), from))))
}

// cut reports whether b may be the beginning of a record.
func cut(b []byte) bool { return len(b) < headerSize || order.Uint16(b[6:]) >= headerSize }

// next splits the first record off b. It returns nil if b has no whole record.
func next(b []byte) (record raw, rest []byte) {
	if len(b) < headerSize {
		return nil, nil
	}
	n := int(order.Uint16(b[6:]))
	if n < headerSize || n > len(b) {
		return nil, nil
	}
	return raw(b[:n:n]), b[n:]
}
