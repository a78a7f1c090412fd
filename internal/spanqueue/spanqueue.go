// Package spanqueue holds what waits for the end of spans, within limits: their events and links come in records of
// their own, before the record of the span.
package spanqueue

import (
	"container/list"

	"github.com/userevents/userevents-go/reader"
)

// Key identifies a span of a process: another process may use the same ids.
type Key struct {
	PID   int32
	Trace [16]byte
	Span  [8]byte
}

// KeyOf returns the key of the span that an event is or belongs to.
func KeyOf(ev *reader.Event) Key { return Key{ev.PID, ev.TraceID, ev.SpanID} }

// Parts is what a span waits with.
type Parts[V any] struct {
	Key   Key
	Value V
	Bytes int // of memory; see [Queue.Grow]
}

// Queue holds the parts of spans in the order in which spans were added. It is not safe for concurrent use.
type Queue[V any] struct {
	maxSpans, maxBytes int
	evict              func(*Parts[V])

	spans map[Key]*list.Element // of *Parts[V]
	order *list.List
	bytes int
}

// New returns an empty queue. When it has more spans or bytes than the limits allow, it removes the oldest spans, and calls
// evict with each.
func New[V any](maxSpans, maxBytes int, evict func(*Parts[V])) *Queue[V] {
	return &Queue[V]{maxSpans: maxSpans, maxBytes: maxBytes, evict: evict, spans: map[Key]*list.Element{}, order: list.New()}
}

// Size returns the number of spans, and of the bytes of their parts.
func (q *Queue[V]) Size() (spans, bytes int) { return len(q.spans), q.bytes }

// Get returns the parts of a span, nil if it has none.
func (q *Queue[V]) Get(key Key) *Parts[V] {
	if e := q.spans[key]; e != nil {
		return e.Value.(*Parts[V])
	}
	return nil
}

// Add adds a span that has no parts yet.
func (q *Queue[V]) Add(key Key, v V) *Parts[V] {
	for len(q.spans) >= q.maxSpans {
		q.Evict()
	}
	p := &Parts[V]{Key: key, Value: v}
	q.spans[key] = q.order.PushBack(p)
	return p
}

// Grow counts bytes that were added to the parts of a span. It can evict the span itself.
func (q *Queue[V]) Grow(p *Parts[V], bytes int) {
	p.Bytes += bytes
	q.bytes += bytes
	for q.bytes > q.maxBytes {
		q.Evict()
	}
}

// Take removes the parts of a span and returns them, nil if it has none.
func (q *Queue[V]) Take(key Key) *Parts[V] {
	e := q.spans[key]
	if e == nil {
		return nil
	}
	delete(q.spans, key)
	p := q.order.Remove(e).(*Parts[V])
	q.bytes -= p.Bytes
	return p
}

// Oldest returns the parts of the span that was added first, nil if there is none.
func (q *Queue[V]) Oldest() *Parts[V] {
	if e := q.order.Front(); e != nil {
		return e.Value.(*Parts[V])
	}
	return nil
}

// Evict evicts the oldest span, and returns false if there is none.
func (q *Queue[V]) Evict() bool {
	p := q.Oldest()
	if p != nil {
		q.evict(q.Take(p.Key))
	}
	return p != nil
}
