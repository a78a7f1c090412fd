package perfetto

import (
	"container/list"
	"encoding/hex"

	"github.com/userevents/userevents-go/reader"
)

// Limits of the data that waits for spans to end.
const (
	maxWaiting      = 10_000  // spans
	maxWaitingBytes = 8 << 20 // of their events and links, and of started spans
	maxUnfinished   = 10_000  // started spans
)

// spanKey identifies a span of a process: another process may use the same ids.
type spanKey struct {
	pid   int32
	trace traceID
	span  spanID
}

func keyOf(ev *reader.Event) spanKey { return spanKey{ev.PID, ev.TraceID, ev.SpanID} }

// queue is a map that keeps the order of insertion.
type queue[V any] struct {
	members map[spanKey]*list.Element // of *member
	order   *list.List
}

type member[V any] struct {
	key   spanKey
	value V
}

func newQueue[V any]() queue[V] { return queue[V]{map[spanKey]*list.Element{}, list.New()} }

func (q *queue[V]) get(key spanKey) *V {
	if e := q.members[key]; e != nil {
		return &e.Value.(*member[V]).value
	}
	return nil
}

func (q *queue[V]) add(key spanKey, v V) *V {
	m := &member[V]{key, v}
	q.members[key] = q.order.PushBack(m)
	return &m.value
}

func (q *queue[V]) remove(key spanKey) (v V, ok bool) {
	e := q.members[key]
	if e == nil {
		return v, false
	}
	delete(q.members, key)
	return q.order.Remove(e).(*member[V]).value, true
}

// oldest returns the member that was inserted first.
func (q *queue[V]) oldest() (key spanKey, v V, ok bool) {
	e := q.order.Front()
	if e == nil {
		return key, v, false
	}
	m := e.Value.(*member[V])
	return m.key, m.value, true
}

func (q *queue[V]) len() int { return len(q.members) }

// spans holds the spans that have not ended.
type spans struct {
	waiting      queue[waiting]
	waitingBytes int
	started      queue[started]
	startedBytes int
}

// ended removes a span from the started ones.
func (s *spans) ended(key spanKey) {
	if span, ok := s.started.remove(key); ok {
		s.startedBytes -= len(span.rest)
	}
}

// waiting holds the encoded events and links of a span.
type waiting struct {
	events []instantOf
	links  message // annotations and flows of the span's slice
	thread uint64  // track of the thread that wrote the first one
	bytes  int
}

// instantOf is an event of a span: its track event without type and track.
type instantOf struct {
	at, recorded uint64
	rest         []byte
}

// started is a started span: its slice without type and track.
type started struct {
	at   uint64
	rest []byte
}

func (s *spans) reset() { *s = spans{waiting: newQueue[waiting](), started: newQueue[started]()} }

// writeSpan writes a span as a slice. Both its beginning and its end come from its record, so they stay in order even
// if the program's clock changes.
func (p *Writer) writeSpan(ev *reader.Event) {
	key := keyOf(ev)
	p.spans.ended(key)
	parts, _ := p.spans.waiting.remove(key)
	p.spans.waitingBytes -= parts.bytes

	end := p.recorded(ev)
	if !ev.Timestamp.IsZero() {
		end = p.happened(ev, ev.Timestamp.Add(ev.Duration))
	}
	begin := end - min(end, uint64(max(ev.Duration, 0)))
	p.processTrack(ev)
	parent := ev.ParentSpanID
	if ev.ParentRemote { // no span of this process can enclose it
		parent = spanID{}
	}
	track := p.nesting.place(traceKey{ev.PID, ev.TraceID}, ev.SpanID, parent, begin, end)
	p.event(begin, track, sliceBegin, func(m *message) {
		p.describeSpan(m, ev)
		m.raw(parts.links.data)
		for i := range ev.NestedLinks {
			l := &ev.NestedLinks[i]
			p.describeLink(m, l.TraceID, l.SpanID, l.Attributes)
		}
	})
	for _, e := range parts.events {
		p.event(min(max(e.at, begin), end), track, instant, func(m *message) { m.raw(e.rest) })
	}
	for i := range ev.NestedEvents {
		e := &ev.NestedEvents[i]
		p.event(min(max(p.monotonic(e.Time), begin), end), track, instant, func(m *message) {
			m.string(eventName, e.Name)
			for _, f := range e.Attributes {
				annotate(m, f.Name, f.Value)
			}
		})
	}
	p.event(end, track, sliceEnd, nil)
}

// describeSpan appends the data at the beginning of a slice.
func (p *Writer) describeSpan(m *message, ev *reader.Event) {
	p.describeEvent(m, ev)
	annotateIDs(m, ev)
	if ev.SpanKind != reader.SpanKindUnspecified {
		annotate(m, "span_kind", reader.StringValue(ev.SpanKind.String()))
	}
	if ev.Status != reader.StatusUnset {
		annotate(m, "status", reader.StringValue(ev.Status.String()))
	}
	if ev.StatusMessage != "" {
		annotate(m, "status_message", reader.StringValue(ev.StatusMessage))
	}
}

// describeLink appends a link of a slice: its attributes, and the flow of the linked trace.
func (p *Writer) describeLink(m *message, trace traceID, span spanID, attributes []reader.Field) {
	m.fixed64(eventFlows, flowOf(trace))
	at := m.begin(eventAnnotations)
	m.string(annotationName, "link")
	id := m.begin(annotationDict)
	m.string(annotationName, "trace_id")
	m.string(annotationString, hex.EncodeToString(trace[:]))
	m.end(id)
	id = m.begin(annotationDict)
	m.string(annotationName, "span_id")
	m.string(annotationString, hex.EncodeToString(span[:]))
	m.end(id)
	for _, f := range attributes {
		member := m.begin(annotationDict)
		m.string(annotationName, f.Name)
		annotateValue(m, f.Value, 0)
		m.end(member)
	}
	m.end(at)
}

// keep keeps an event or a link of a span until the span has ended.
func (p *Writer) keep(ev *reader.Event) {
	key := keyOf(ev)
	w := p.spans.waiting.get(key)
	if w == nil {
		if p.spans.waiting.len() >= maxWaiting {
			p.giveUp()
		}
		w = p.spans.waiting.add(key, waiting{thread: p.threadTrack(ev)})
	}
	before := len(w.links.data)
	if ev.Kind == reader.SpanLink {
		p.describeLink(&w.links, ev.LinkedTraceID, ev.LinkedSpanID, ev.Fields)
	} else {
		var rest message
		p.describeEvent(&rest, ev)
		annotateIDs(&rest, ev)
		w.events = append(w.events, instantOf{p.monotonic(ev.Timestamp), p.recorded(ev), rest.data})
		before -= len(rest.data)
	}
	size := len(w.links.data) - before
	w.bytes += size
	p.spans.waitingBytes += size
	for p.spans.waitingBytes > maxWaitingBytes {
		p.giveUp()
	}
}

// giveUp writes the events of the span that has waited longest, on the thread that wrote them. It drops links, which
// need a slice.
func (p *Writer) giveUp() {
	key, w, _ := p.spans.waiting.oldest()
	p.spans.waiting.remove(key)
	p.spans.waitingBytes -= w.bytes
	for _, e := range w.events {
		p.event(plausible(e.at, e.recorded), w.thread, instant, func(m *message) { m.raw(e.rest) })
	}
}

// start keeps a started span, in case it does not end before the file does.
func (p *Writer) start(ev *reader.Event) {
	var rest message
	p.describeSpan(&rest, ev)
	key := keyOf(ev)
	p.spans.ended(key)
	for s := &p.spans; s.started.len() >= maxUnfinished || s.started.len() > 0 && s.startedBytes+len(rest.data) > maxWaitingBytes; {
		oldest, _, _ := s.started.oldest()
		s.ended(oldest)
	}
	p.spans.startedBytes += len(rest.data)
	p.processTrack(ev)
	p.spans.started.add(key, started{p.happened(ev, ev.Timestamp), rest.data})
}

// writeUnfinished writes the spans that did not end, each on its own track: a slice without an end encloses all later
// ones.
func (p *Writer) writeUnfinished() {
	for p.spans.waiting.len() > 0 {
		p.giveUp()
	}
	for {
		key, s, ok := p.spans.started.oldest()
		if !ok {
			return
		}
		p.spans.ended(key)
		p.event(s.at, p.openSpans(key.pid), sliceBegin, func(m *message) { m.raw(s.rest) })
	}
}
