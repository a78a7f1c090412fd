package perfdata

import (
	"bufio"
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"io"
	"math"
)

// entry is a record of the file.
type entry struct {
	bytes []byte // header included
	time  uint64
	seq   uint64 // position in the file
}

func (r entry) kind() uint32 { return order.Uint32(r.bytes) }
func (r entry) misc() uint16 { return order.Uint16(r.bytes[4:]) }
func (r entry) body() []byte { return r.bytes[recordHeader:] }

// queue sorts the records of a file by time. Records of several CPUs come in rounds: the records of a round are at
// least as new as the newest one two rounds before.
type queue struct {
	buf     *bufio.Reader
	waiting recordHeap
	bytes   int // of the records that wait
	limit   int // of bytes
	seq     uint64
	at      uint64 // position in the file of the last record that was read
	next    uint64 // and of the one after it
	round   uint64 // newest time of the rounds before this one
	newest  uint64
	release uint64 // records up to this time are in order
	ended   bool
	err     error // why it ended, if that is not its end
}

const (
	// maxWaiting limits the bytes of records that wait to be sorted: files may not say where rounds end. Beyond it the
	// oldest ones are released, and others that are older may come after them.
	maxWaiting = 256 << 20
	// recordSize is about what a record takes in memory beside its bytes.
	recordSize = 128
)

func (q *queue) pop(r *Reader) (entry, error) {
	for {
		if len(q.waiting) > 0 && (q.ended || q.waiting[0].time <= q.release || q.bytes > q.limit) {
			rec := heap.Pop(&q.waiting).(entry)
			q.bytes -= len(rec.bytes) + recordSize
			return rec, nil
		}
		if q.ended {
			return entry{}, cmp.Or(q.err, io.EOF)
		}
		if q.err = q.read(r); q.err != nil {
			q.ended = true // what it has before that is returned first
		}
	}
}

func (q *queue) read(r *Reader) error {
	q.at = q.next
	var header [recordHeader]byte
	if _, err := io.ReadFull(q.buf, header[:]); err != nil {
		if err == io.EOF {
			q.ended = true
			return nil
		}
		return q.cut(err)
	}
	kind, size := order.Uint32(header[:]), int(order.Uint16(header[6:]))
	if size < recordHeader+leastBody[kind] {
		return q.malformed("has %d bytes", size)
	}
	b := make([]byte, size)
	copy(b, header[:])
	if _, err := io.ReadFull(q.buf, b[recordHeader:]); err != nil {
		return q.cut(err)
	}
	q.next += uint64(size)
	switch kind {
	case typeFinishedRound:
		q.release, q.round = q.round, q.newest
		return nil
	case typeCompressed, typeCompressed2:
		return malformed("its records are compressed (record without -z)")
	case typeAuxtrace: // the data follows the record
		return q.skip(order.Uint64(b[recordHeader:]))
	case typeTracingData: // the same
		formats, err := q.take(uint64(order.Uint32(b[recordHeader:])))
		if err != nil {
			return err
		}
		return r.addFormats(formats)
	case typeHeaderAttr: // struct perf_event_attr, u64 ids[]
		attr := b[recordHeader:]
		n := max(leastAttr, min(uint64(order.Uint32(attr[4:])), uint64(len(attr))))
		return r.addEvent(attr[:n], attr[n:])
	case typeFeature:
		r.addFeature(order.Uint64(b[recordHeader:]), b[recordHeader+8:])
		return nil
	}
	if kind >= typeUser {
		return nil
	}
	if r.any == nil {
		return q.malformed("comes before its event")
	}
	rec := entry{bytes: b, seq: q.seq}
	q.seq++
	rec.time = r.timeOf(rec)
	q.newest = max(q.newest, rec.time)
	heap.Push(&q.waiting, rec)
	q.bytes += len(b) + recordSize
	return nil
}

var leastBody = map[uint32]int{typeAuxtrace: 8, typeTracingData: 4, typeHeaderAttr: leastAttr, typeFeature: 8}

func (q *queue) malformed(format string, args ...any) error {
	return malformed("its record at byte %d "+format, append([]any{q.at}, args...)...)
}

// cut returns the error for a record whose end could not be read. It is not [io.EOF], which is the end of a file.
func (q *queue) cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w, which begins at byte %d", ErrCut, q.at)
	}
	return q.malformed("cannot be read: %w", err)
}

func (q *queue) skip(n uint64) error {
	if n > math.MaxInt64 {
		return q.malformed("has %d bytes of other data", n)
	}
	if _, err := io.CopyN(io.Discard, q.buf, int64(n)); err != nil {
		return q.cut(err)
	}
	q.next += n
	return nil
}

// take reads data that follows a record. It allocates memory only for data that exists.
func (q *queue) take(n uint64) ([]byte, error) {
	if n > maxSection {
		return nil, q.malformed("has %d bytes of formats", n)
	}
	b, err := io.ReadAll(io.LimitReader(q.buf, int64(n)))
	if err == nil && uint64(len(b)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, q.cut(err)
	}
	q.next += n
	return b, nil
}

// recordHeap is a heap of records by time, and for equal times by position in the file.
type recordHeap []entry

func (h recordHeap) Len() int { return len(h) }
func (h recordHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].time, h[j].time), cmp.Compare(h[i].seq, h[j].seq)) < 0
}
func (h recordHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *recordHeap) Push(x any) { *h = append(*h, x.(entry)) }

func (h *recordHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}
