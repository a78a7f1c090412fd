package perf

import (
	"cmp"
	"slices"
)

// queue holds the records that were taken out of one ring and not delivered yet, in the ring's order.
type queue struct {
	cpu   int // number of the ring's CPU
	buf   []byte
	first raw    // next record, in buf; nil if there is none
	pos   int    // position in buf after first
	time  uint64 // time of first
	gone  uint64 // bytes that left buf
}

// advance moves first to the next record. It skips records that are too short for a time, and the rest of buf after a
// broken one, since the records behind it cannot be separated. The kernel writes neither. It returns their number.
func (q *queue) advance() (skipped uint64) {
	for q.pos < len(q.buf) {
		record, _ := next(q.buf[q.pos:])
		if record == nil {
			q.pos = len(q.buf)
			skipped++
			break
		}
		q.pos += len(record)
		if record.valid() {
			q.first, q.time = record, record.time()
			return skipped
		}
		skipped++
	}
	q.first = nil
	return skipped
}

// start returns the position of first in buf.
func (q *queue) start() int { return q.pos - len(q.first) }

// compact moves undelivered records to the start of buf, over delivered ones.
func (q *queue) compact() {
	start := q.start()
	if start == 0 {
		return
	}
	n := copy(q.buf, q.buf[start:])
	q.buf = q.buf[:n]
	q.gone += uint64(start)
	q.pos = len(q.first)
	if q.first != nil {
		q.first = raw(q.buf[:q.pos:q.pos])
	}
}

// end returns how many bytes have entered the queue, and delivered how many of them were delivered.
func (q *queue) end() uint64       { return q.gone + uint64(len(q.buf)) }
func (q *queue) delivered() uint64 { return q.gone + uint64(q.start()) }

// merge has the non-empty queues in the order of their first records.
type merge []*queue

// oldest returns the queue with the oldest first record, or nil.
func (m merge) oldest() *queue {
	if len(m) == 0 {
		return nil
	}
	return m[0]
}

// take advances the oldest queue.
func (m *merge) take() (skipped uint64) {
	q, others := (*m)[0], (*m)[1:]
	skipped = q.advance()
	switch {
	case q.first == nil:
		*m = slices.Delete(*m, 0, 1)
	case len(others) > 0 && others[0].time < q.time: // rarely: records of a CPU come together
		i := others.search(q.time)
		copy(*m, others[:i])
		(*m)[i] = q
	}
	return skipped
}

// add advances a queue that had no record, and adds it if it has one.
func (m *merge) add(q *queue) (skipped uint64) {
	if skipped = q.advance(); q.first != nil {
		*m = slices.Insert(*m, m.search(q.time), q)
	}
	return skipped
}

// search returns the number of queues whose first record is older.
func (m merge) search(time uint64) int {
	i, _ := slices.BinarySearchFunc(m, time, func(q *queue, time uint64) int { return cmp.Compare(q.time, time) })
	return i
}
