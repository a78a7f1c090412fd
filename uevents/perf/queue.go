package perf

import "container/heap"

// queue holds the records that were taken out of one ring and not delivered yet, in the ring's order.
type queue struct {
	cpu   int // number of the ring's CPU
	buf   []byte
	first raw    // next record, in buf; nil if there is none
	pos   int    // position in buf after first
	time  uint64 // time of first
}

// advance moves first to the next record. It skips records that are too short for a time, which the kernel never
// writes, and returns their number.
func (q *queue) advance() (skipped uint64) {
	for q.pos < len(q.buf) {
		record, _ := next(q.buf[q.pos:]) // a queue has whole records only
		q.pos += len(record)
		if !record.valid() {
			skipped++
			continue
		}
		q.first, q.time = record, record.time()
		return skipped
	}
	q.first = nil
	return skipped
}

// compact moves undelivered records to the start of buf, over delivered ones.
func (q *queue) compact() {
	start := q.pos - len(q.first)
	if start == 0 {
		return
	}
	n := copy(q.buf, q.buf[start:])
	q.buf = q.buf[:n]
	q.pos = len(q.first)
	q.first = raw(q.buf[:q.pos:q.pos])
	if q.pos == 0 {
		q.first = nil
	}
}

// merge is a heap of the non-empty queues, ordered by the time of their first record.
type merge []*queue

func (m merge) Len() int           { return len(m) }
func (m merge) Less(i, j int) bool { return m[i].time < m[j].time }
func (m merge) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }

// Push implements heap.Interface.
func (m *merge) Push(x any) {
	*m = append(*m, x.(*queue))
}

// Pop implements heap.Interface.
func (m *merge) Pop() any {
	last := len(*m) - 1
	q := (*m)[last]
	(*m)[last] = nil
	*m = (*m)[:last]
	return q
}

// oldest returns the queue with the oldest first record, or nil.
func (m merge) oldest() *queue {
	if len(m) == 0 {
		return nil
	}
	return m[0]
}

// take advances the oldest queue.
func (m *merge) take() (skipped uint64) {
	q := (*m)[0]
	skipped = q.advance()
	switch {
	case q.first == nil:
		heap.Pop(m)
	case !m.inOrder():
		heap.Fix(m, 0)
	}
	return skipped
}

// inOrder reports whether the first queue is the oldest one, as it mostly is: records of a CPU come together.
func (m merge) inOrder() bool {
	return (len(m) < 2 || m[0].time <= m[1].time) && (len(m) < 3 || m[0].time <= m[2].time)
}

// add adds a queue that is no longer empty.
func (m *merge) add(q *queue) { heap.Push(m, q) }
