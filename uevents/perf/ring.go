package perf

// appendNew appends all records between tail and head to dst, and frees their room.
func (r *ring) appendNew(dst []byte) []byte {
	tail, head := r.tail.Load(), r.head.Load()
	dst = r.appendRange(dst, tail, distance(tail, head))
	r.tail.Store(head)
	return dst
}

// spare is the room that a ring has while no record can be lost: a record has 16 bits for its size, and its writer may be interrupted by
// three others.
const spare = 4 << 16

// overran reports whether records may have been lost since the reader last freed the room before a position, with which tail was
// there.
func (r *ring) overran(tail uint64) bool {
	return distance(tail, r.head.Load())+spare > uint64(len(r.data))
}

// distance returns the number of bytes between two positions. Positions of 32-bit kernels wrap around at 4 GiB; rings
// are smaller than that.
func distance(from, to uint64) uint64 { return uint64(uint32(to - from)) }

// appendRange appends n bytes from a position, which may wrap around. It appends at most the size of the ring.
func (r *ring) appendRange(dst []byte, pos, n uint64) []byte {
	size := uint64(len(r.data))
	n = min(n, size)
	start := pos & (size - 1)
	first := min(n, size-start)
	dst = append(dst, r.data[start:start+first]...)
	return append(dst, r.data[:n-first]...)
}

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

// eachNew calls f for all whole records between tail and head, and leaves them in the ring. It copies them to scratch,
// which it returns.
func (r *ring) eachNew(scratch []byte, f func(raw)) []byte {
	tail, head := r.tail.Load(), r.head.Load()
	scratch = r.appendRange(scratch[:0], tail, distance(tail, head))
	for b := scratch; len(b) > 0; {
		var record raw
		if record, b = next(b); record != nil {
			f(record)
		}
	}
	return scratch
}
