package perf

import (
	"cmp"
	"slices"
)

// queue has the records of one ring that are not delivered yet, in the ring's order: the first ones as a copy, and behind them those that the
// ring still has.
type queue struct {
	cpu    int // number of the ring's CPU
	ring   *ring
	buf    []byte
	first  raw    // next record, in buf; nil if there is none
	pos    int    // position in buf after first
	time   uint64 // time of first, or of the record before
	gone   uint64 // bytes that left buf
	head   uint64 // that of the ring at the last look
	left   uint64 // bytes of the ring before that
	sparse int    // looks at which buf was far too large
}

const (
	// drainBudget limits the copies of records of all rings together, in bytes, however many CPUs there are; for more than 512 rings, it
	// is minShare for each. Buffers may be larger by a quarter, as append makes them.
	drainBudget = 8 << 20
	// minShare is the least share of a ring, which has room for any record of a tracepoint (unsafePart).
	minShare = 16 << 10
	// maxRecord is the largest size of a record, which has 16 bits for it.
	maxRecord = 1 << 16
	// shrinkAfter is after how many looks a buffer is freed that was far too large at each.
	shrinkAfter = 32
	// minBuffer is the size of a buffer that is never too large.
	minBuffer = 4 << 10
)

// look notes what the ring has by now. It frees a buffer that is empty and far larger than its share, or than was needed for a while.
func (q *queue) look(share int) {
	q.head, q.left = q.ring.unread()
	if size := cap(q.buf); q.left >= uint64(size/8) || size <= minBuffer {
		q.sparse = 0
	} else {
		q.sparse++
	}
	if q.start() == len(q.buf) && (q.sparse >= shrinkAfter || cap(q.buf) > 2*share) {
		q.gone += uint64(len(q.buf))
		q.buf, q.pos, q.sparse = nil, 0, 0
	}
}

// copy moves records from the ring to the queue, which frees their room: until the queue has its share, or one record. It reports whether
// records may have been lost.
func (q *queue) copy(share int) (overran bool) {
	q.compact()
	room := share - len(q.buf)
	if room <= 0 && q.first == nil {
		room = maxRecord
	}
	n := min(q.left, uint64(max(room, 0)))
	if n == 0 {
		return false
	}
	tail := q.ring.tail.Load()
	q.buf = q.ring.appendRange(q.buf, q.head-q.left, n)
	q.left -= n
	q.ring.free(q.head, q.left)
	return q.ring.overran(tail)
}

// advance moves first to the next record. It skips records that are too short for a time, and the rest of the queue after a
// broken one, since the records behind it cannot be separated. The kernel writes neither. It returns their number. There is no first
// record if the next one is not wholly copied.
func (q *queue) advance() (skipped uint64) {
	for q.pos < len(q.buf) {
		record, _ := next(q.buf[q.pos:])
		if record == nil {
			if q.left > 0 && cut(q.buf[q.pos:]) {
				break
			}
			q.drop()
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

func (q *queue) drop() {
	q.pos = len(q.buf)
	if q.left > 0 {
		q.ring.free(q.head, 0)
		q.gone += q.left
		q.left = 0
	}
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
func (q *queue) end() uint64       { return q.gone + uint64(len(q.buf)) + q.left }
func (q *queue) delivered() uint64 { return q.gone + uint64(q.start()) }

// merge has the non-empty queues in the order of their first records. One whose next record is still in its ring has the time of the record
// before, which the next one may have, too: it is the oldest.
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
	case q.first == nil && q.left > 0: // it stays the oldest
	case q.first == nil:
		*m = slices.Delete(*m, 0, 1)
	case len(others) > 0 && others[0].time < q.time: // rarely: records of a CPU come together
		i := others.search(q.time)
		copy(*m, others[:i])
		(*m)[i] = q
	}
	return skipped
}

func (m *merge) add(q *queue) { *m = slices.Insert(*m, m.search(q.time), q) }

// search returns the number of queues whose first record is older.
func (m merge) search(time uint64) int {
	i, _ := slices.BinarySearchFunc(m, time, func(q *queue, time uint64) int { return cmp.Compare(q.time, time) })
	return i
}
