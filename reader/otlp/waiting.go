package otlp

import (
	"container/list"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/userevents/userevents-go/reader"
)

// maxSpanBytes limits the size of the events and links of one span, in bytes of JSON. Destinations limit the size of a
// message, and the converter never splits a span.
const maxSpanBytes = 512 << 10

// spanKey identifies a span of a process: another process may use the same ids.
type spanKey struct {
	pid   int32
	trace [16]byte
	span  [8]byte
}

func keyOf(ev *reader.Event) spanKey { return spanKey{ev.PID, ev.TraceID, ev.SpanID} }

// waiting holds events and links whose span did not arrive yet.
type waiting struct {
	spans  map[spanKey]*list.Element
	oldest *list.List // of *parts, by the time of their first one
	bytes  int
}

func (w *waiting) reset() { w.spans, w.oldest, w.bytes = map[spanKey]*list.Element{}, list.New(), 0 }

// parts are the events and links of a span.
type parts struct {
	key    spanKey
	since  int64
	events []spanEvent
	links  ptrace.SpanLinkSlice
	bytes  int // approximate size in JSON
}

// spanEvent is an event of a span, with the data for a log record.
type spanEvent struct {
	event  ptrace.SpanEvent
	origin origin
	record plog.LogRecord // without the data in event
	bytes  int
}

// keepEvent keeps an event for its span.
func (c *Converter) keepEvent(ev *reader.Event) {
	e := spanEvent{event: ptrace.NewSpanEvent(), origin: c.originOf(ev), record: plog.NewLogRecord(), bytes: spanEventSize + jsonSize(ev.Message)}
	e.event.SetName(c.texts.keep(ev.Message))
	at := ev.Timestamp
	if at.IsZero() {
		at = ev.Time
	}
	e.event.SetTimestamp(timestamp(at))
	e.event.SetDroppedAttributesCount(ev.DroppedAttributes)
	e.bytes += c.putAttributes(e.event.Attributes(), ev)
	e.record.SetObservedTimestamp(timestamp(ev.Time))
	e.record.SetTraceID(ev.TraceID)
	e.record.SetSpanID(ev.SpanID)
	e.record.SetFlags(plog.LogRecordFlags(ev.TraceFlags))
	p := c.partsOf(ev)
	if p.bytes+e.bytes > maxSpanBytes {
		c.release(&e)
		return
	}
	p.events = append(p.events, e)
	c.grow(p, e.bytes)
}

// keepLink keeps a link for its span.
func (c *Converter) keepLink(ev *reader.Event) {
	p := c.partsOf(ev)
	if p.bytes > maxSpanBytes {
		c.stats.OrphanLinks++
		return
	}
	l := p.links.AppendEmpty()
	l.SetTraceID(ev.LinkedTraceID)
	l.SetSpanID(ev.LinkedSpanID)
	l.SetFlags(uint32(ev.TraceFlags))
	l.TraceState().FromRaw(c.texts.keep(ev.TraceState))
	l.SetDroppedAttributesCount(ev.DroppedAttributes)
	c.grow(p, c.putAttributes(l.Attributes(), ev)+jsonSize(ev.TraceState)+spanLinkSize)
}

// partsOf returns the parts that wait for the span of an event.
func (c *Converter) partsOf(ev *reader.Event) *parts {
	w := &c.waiting
	key := keyOf(ev)
	if e := w.spans[key]; e != nil {
		return e.Value.(*parts)
	}
	if len(w.spans) >= c.o.MaxSpans {
		c.giveUp(w.oldest.Front())
	}
	p := &parts{key: key, since: c.now, links: ptrace.NewSpanLinkSlice()}
	w.spans[key] = w.oldest.PushBack(p)
	return p
}

// grow counts bytes added to a span. Beyond the limit, it releases the oldest spans.
func (c *Converter) grow(p *parts, bytes int) {
	p.bytes += bytes
	c.waiting.bytes += bytes
	for c.waiting.bytes > c.o.MaxBytes {
		c.giveUp(c.waiting.oldest.Front())
	}
}

// claim moves the waiting parts of a span into it, and returns their approximate size in JSON.
func (c *Converter) claim(ev *reader.Event, s ptrace.Span) (size int) {
	if len(c.waiting.spans) == 0 {
		return 0
	}
	e := c.waiting.spans[keyOf(ev)]
	if e == nil {
		return 0
	}
	p := c.waiting.remove(e)
	s.Events().EnsureCapacity(len(p.events))
	for _, e := range p.events {
		e.event.MoveTo(s.Events().AppendEmpty())
	}
	p.links.MoveAndAppendTo(s.Links())
	return p.bytes
}

// remove removes the waiting parts of a span.
func (w *waiting) remove(e *list.Element) *parts {
	p := w.oldest.Remove(e).(*parts)
	delete(w.spans, p.key)
	w.bytes -= p.bytes
	return p
}

// expire releases the spans whose first part is older than a time.
func (c *Converter) expire(before int64) {
	for {
		e := c.waiting.oldest.Front()
		if e == nil || e.Value.(*parts).since >= before {
			return
		}
		c.giveUp(e)
	}
}

// giveUp turns the events of a missing span into log records, and drops its links.
func (c *Converter) giveUp(e *list.Element) {
	p := c.waiting.remove(e)
	for i := range p.events {
		c.release(&p.events[i])
	}
	c.stats.OrphanLinks += uint64(p.links.Len())
}

// release turns an event of a span into a log record.
func (c *Converter) release(e *spanEvent) {
	lr := c.appendLog(e.origin)
	e.record.CopyTo(lr)
	lr.SetEventName(e.event.Name())
	lr.SetTimestamp(e.event.Timestamp())
	lr.SetSeverityNumber(plog.SeverityNumberInfo)
	lr.SetDroppedAttributesCount(e.event.DroppedAttributesCount())
	e.event.Attributes().MoveTo(lr.Attributes())
	c.logs.bytes += e.bytes
	c.stats.OrphanEvents++
}
