package usereventsreceiver

import (
	"errors"
	"io"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
)

// queued is an undecoded record in a chunk. Without a decoder, it says that there are no further records of a process, or with
// the id 0 of any.
type queued struct {
	reader.Undecoded

	begin, end uint32 // its bytes in the chunk
}

// chunk has records in their order, and their bytes.
type chunk struct {
	records []queued
	data    []byte
}

// Limits of a chunk. A record has at most 64 KiB.
const (
	chunkData    = 256 << 10
	chunkRecords = 1024
)

// chunkSize is the memory of a chunk in bytes.
var chunkSize = chunkData + chunkRecords*int(reflect.TypeFor[queued]().Size())

// decode decodes a record as [reader.Undecoded.Decode] does.
func (c *chunk) decode(q *queued, rec *record.Record) (selected, isCopy bool) {
	return q.Decode(c.data[q.begin:q.end:q.end], rec)
}

// queue holds records between the goroutine that empties the rings and the one that decodes them. Its memory is bounded.
type queue struct {
	max int // chunks

	mu     sync.Mutex
	chunks []*chunk // oldest first; the last one is being filled
	spare  *chunk   // for reuse
	held   int      // chunks that exist, but for spare
	closed bool

	ready, room chan struct{} // signals, with a buffer of one
}

// newQueue returns an empty queue. size is its limit in bytes; it has at least two chunks.
func newQueue(size int) *queue {
	return &queue{max: max(2, size/chunkSize), ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// put copies an undecoded record. It reports whether the queue has room for it.
func (q *queue) put(u *reader.Undecoded, raw []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.last()
	if c == nil || len(c.records) >= chunkRecords || len(c.data)+len(raw) > chunkData {
		if c = q.add(); c == nil {
			return false
		}
	}
	begin := len(c.data)
	c.data = append(c.data, raw...)
	c.records = append(c.records, queued{*u, uint32(begin), uint32(len(c.data))})
	return true
}

// end notes that the records of a process end here, or with the id 0 those of all processes. It needs no room: between two records there
// are no more such notes than processes that wrote records.
func (q *queue) end(pid int32) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.last()
	if c != nil && c.endsWith(pid) {
		return
	}
	if c == nil || len(c.records) >= chunkRecords {
		if next := q.add(); next != nil { // always if there is no last one: at most one of two is in use then
			c = next
		}
	}
	c.records = append(c.records, queued{Undecoded: reader.Undecoded{PID: pid}})
}

// endsWith reports whether there is no record behind the end of a process.
func (c *chunk) endsWith(pid int32) bool {
	for i := len(c.records) - 1; i >= 0 && c.records[i].Decoder == nil; i-- {
		if c.records[i].PID == pid {
			return true
		}
	}
	return false
}

func (q *queue) last() *chunk {
	if len(q.chunks) == 0 {
		return nil
	}
	return q.chunks[len(q.chunks)-1]
}

// add adds an empty chunk, or returns nil if there are too many.
func (q *queue) add() *chunk {
	if q.held == q.max {
		return nil
	}
	c := q.spare
	if q.spare = nil; c == nil {
		c = &chunk{records: make([]queued, 0, chunkRecords), data: make([]byte, 0, chunkData)}
	}
	q.held++
	q.chunks = append(q.chunks, c)
	signal(q.ready)
	return c
}

// take returns the oldest chunk, which the caller gives back by release. It returns os.ErrDeadlineExceeded if there is
// none for so long, and io.EOF if there is none and the queue is closed.
func (q *queue) take(wait time.Duration) (*chunk, error) {
	var timer <-chan time.Time
	for {
		q.mu.Lock()
		if len(q.chunks) > 0 {
			c := q.chunks[0]
			q.chunks[0] = nil
			q.chunks = q.chunks[1:]
			q.mu.Unlock()
			return c, nil
		}
		closed := q.closed
		q.mu.Unlock()
		if closed {
			return nil, io.EOF
		}
		if timer == nil {
			t := time.NewTimer(wait)
			defer t.Stop()
			timer = t.C
		}
		select {
		case <-q.ready:
		case <-timer:
			return nil, os.ErrDeadlineExceeded
		}
	}
}

// release gives a chunk back. Most of the memory of a full queue is freed when it is empty again.
func (q *queue) release(c *chunk) {
	clear(c.records) // they refer to processes
	c.records, c.data = c.records[:0], c.data[:0]
	q.mu.Lock()
	q.spare = c
	q.held--
	q.mu.Unlock()
	signal(q.room)
}

// close ends the queue after its last record.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	signal(q.ready)
}

// size returns how many bytes of memory the queue uses.
func (q *queue) size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held * chunkSize
}

// signal wakes the goroutine that waits for a channel, now or when it waits next.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// drain moves records from a source to the queue. While the queue is full it reads none, so that those are counted as lost
// that the rings have no room for. It returns nil when the source was stopped and all is read, or when Shutdown
// does not wait for the rest.
func (s *session) drain(src source) error {
	if _, err := s.check(src); err != nil {
		return err
	}
	var u reader.Undecoded
	src.SetDeadline(time.Now().Add(s.nextCheck()))
	for {
		raw, err := src.NextUndecoded(&u)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			more, err := s.check(src)
			if more {
				err = src.Stop()
			}
			if err != nil {
				return err
			}
			src.SetDeadline(time.Now().Add(s.nextCheck()))
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		for !s.queue.put(&u, raw) {
			if !s.waitForRoom(src) {
				s.outputs.drop(u.Decoder.System()+":"+u.Decoder.Format().Name, reasonShutdown, 1)
				return nil
			}
		}
	}
}

// noticeInterval is how often notices are delivered while the queue is full.
const noticeInterval = time.Second

// waitForRoom waits until the queue has room. It reports whether that may be so.
func (s *session) waitForRoom(src source) bool {
	t := time.NewTimer(noticeInterval)
	defer t.Stop()
	for {
		select {
		case <-s.queue.room:
			return true
		case <-s.ctx.Done():
			return false
		case <-t.C:
			src.CheckNotices()
			t.Reset(noticeInterval)
		}
	}
}
