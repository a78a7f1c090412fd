// Package spanqueue holds what waits for the end of spans, within limits: their events and links come in records of
// their own, before the record of the span, which may be minutes later.
package spanqueue

import (
	"container/heap"
	"container/list"
	"iter"

	"github.com/userevents/userevents-go/record"
)

// Key identifies a span of a process: another process may use the same ids.
type Key struct {
	PID   int32
	Trace [16]byte
	Span  [8]byte
}

// KeyOf returns the key of the span that an event is or belongs to.
func KeyOf(ev *record.Record) Key { return Key{ev.PID, ev.TraceID, ev.SpanID} }

// Parts is what a span waits with.
type Parts[V any] struct {
	Key   Key
	Value V
	Bytes int // of memory; see [Queue.Grow]

	process *process
	place   *list.Element // in process.spans
}

// Queue holds the parts of spans. When they are too many or too large, it evicts the oldest span of the process whose parts
// have the most bytes: a process that ends no spans leaves the others their room. It is not safe for concurrent use.
type Queue[V any] struct {
	maxSpans, maxBytes int
	evict              func(*Parts[V])

	spans     map[Key]*Parts[V]
	processes map[int32]*process
	largest   byBytes
	bytes     int
}

// New returns an empty queue. When it has more spans or bytes than the limits allow, it removes spans, and calls evict with
// each.
func New[V any](maxSpans, maxBytes int, evict func(*Parts[V])) *Queue[V] {
	return &Queue[V]{maxSpans: maxSpans, maxBytes: maxBytes, evict: evict, spans: map[Key]*Parts[V]{}, processes: map[int32]*process{}}
}

// Size returns the number of spans, and of the bytes of their parts.
func (q *Queue[V]) Size() (spans, bytes int) { return len(q.spans), q.bytes }

// Get returns the parts of a span, nil if it has none.
func (q *Queue[V]) Get(key Key) *Parts[V] { return q.spans[key] }

// Of returns the spans of a process, oldest first. The caller may take each one that it gets.
func (q *Queue[V]) Of(pid int32) iter.Seq[*Parts[V]] {
	return func(yield func(*Parts[V]) bool) {
		of := q.processes[pid]
		if of == nil {
			return
		}
		for e := of.spans.Front(); e != nil; {
			p := e.Value.(*Parts[V])
			e = e.Next()
			if !yield(p) {
				return
			}
		}
	}
}

// Add adds a span that has no parts yet. Other spans make room for its bytes.
func (q *Queue[V]) Add(key Key, v V, bytes int) *Parts[V] {
	for len(q.spans) > 0 && (len(q.spans) >= q.maxSpans || q.bytes+bytes > q.maxBytes) {
		q.Evict()
	}
	of := q.processes[key.PID]
	if of == nil {
		of = &process{pid: key.PID}
		q.processes[key.PID] = of
		heap.Push(&q.largest, of)
	}
	p := &Parts[V]{Key: key, Value: v, process: of}
	p.place = of.spans.PushBack(p)
	q.spans[key] = p
	q.count(p, bytes)
	return p
}

// Grow counts bytes that were added to the parts of a span. It can evict the span itself.
func (q *Queue[V]) Grow(p *Parts[V], bytes int) {
	q.count(p, bytes)
	for q.bytes > q.maxBytes {
		q.Evict()
	}
}

// count counts bytes of a span.
func (q *Queue[V]) count(p *Parts[V], bytes int) {
	p.Bytes += bytes
	p.process.bytes += bytes
	q.bytes += bytes
	heap.Fix(&q.largest, p.process.index)
}

// Take removes the parts of a span and returns them, nil if it has none.
func (q *Queue[V]) Take(key Key) *Parts[V] {
	p := q.spans[key]
	if p == nil {
		return nil
	}
	delete(q.spans, key)
	of := p.process
	of.spans.Remove(p.place)
	of.bytes -= p.Bytes
	q.bytes -= p.Bytes
	if of.spans.Len() > 0 {
		heap.Fix(&q.largest, of.index)
	} else {
		heap.Remove(&q.largest, of.index)
		delete(q.processes, of.pid)
	}
	return p
}

// Next returns the parts of the span that is evicted next, nil if there is none.
func (q *Queue[V]) Next() *Parts[V] {
	if len(q.largest) == 0 {
		return nil
	}
	return q.largest[0].spans.Front().Value.(*Parts[V])
}

// Evict evicts a span, and returns false if there is none.
func (q *Queue[V]) Evict() bool {
	p := q.Next()
	if p != nil {
		q.evict(q.Take(p.Key))
	}
	return p != nil
}

// process is a process with spans in a [Queue].
type process struct {
	pid   int32
	spans list.List // of *Parts, oldest first
	bytes int       // of all
	index int       // in byBytes
}

// byBytes is a heap of processes. The one with the most bytes is the first.
type byBytes []*process

func (b byBytes) Len() int           { return len(b) }
func (b byBytes) Less(i, j int) bool { return b[i].bytes > b[j].bytes }

func (b byBytes) Swap(i, j int) {
	b[i], b[j] = b[j], b[i]
	b[i].index, b[j].index = i, j
}

func (b *byBytes) Push(p any) {
	p.(*process).index = len(*b)
	*b = append(*b, p.(*process))
}

func (b *byBytes) Pop() any {
	last := len(*b) - 1
	p := (*b)[last]
	(*b)[last] = nil
	*b = (*b)[:last]
	return p
}
