package otlp

import (
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/userevents/userevents-go/internal/spanqueue"
	"github.com/userevents/userevents-go/reader"
)

// maxSpanBytes limits the size of the events and links of one span, in bytes of JSON. Destinations limit the size of a
// message, and the converter never splits a span.
const maxSpanBytes = 512 << 10

// parts are the events and links of a span that did not arrive yet.
type parts struct {
	since  int64 // time of the first one
	events []spanEvent
	links  ptrace.SpanLinkSlice
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
	e.bytes += c.putAll(e.event.Attributes(), ev.Fields, 0) + putTruncated(e.event.Attributes(), ev) + c.putOrigin(e.record.Attributes(), ev)
	e.record.SetObservedTimestamp(timestamp(ev.Time))
	e.record.SetTraceID(ev.TraceID)
	e.record.SetSpanID(ev.SpanID)
	e.record.SetFlags(plog.LogRecordFlags(ev.TraceFlags))
	p := c.partsOf(ev)
	if p.Bytes+e.bytes > maxSpanBytes {
		c.release(&e)
		return
	}
	p.Value.events = append(p.Value.events, e)
	c.waiting.Grow(p, e.bytes)
}

// keepLink keeps a link for its span.
func (c *Converter) keepLink(ev *reader.Event) {
	p := c.partsOf(ev)
	if p.Bytes > maxSpanBytes {
		c.stats.OrphanLinks++
		return
	}
	l := p.Value.links.AppendEmpty()
	l.SetTraceID(ev.LinkedTraceID)
	l.SetSpanID(ev.LinkedSpanID)
	l.SetFlags(uint32(ev.TraceFlags))
	l.TraceState().FromRaw(c.texts.keep(ev.TraceState))
	l.SetDroppedAttributesCount(ev.DroppedAttributes)
	c.waiting.Grow(p, c.putAll(l.Attributes(), ev.Fields, 0)+putTruncated(l.Attributes(), ev)+jsonSize(ev.TraceState)+spanLinkSize)
}

// partsOf returns the parts that wait for the span of an event.
func (c *Converter) partsOf(ev *reader.Event) *spanqueue.Parts[parts] {
	key := spanqueue.KeyOf(ev)
	if p := c.waiting.Get(key); p != nil {
		return p
	}
	return c.waiting.Add(key, parts{since: c.now, links: ptrace.NewSpanLinkSlice()})
}

// claim moves the waiting parts of a span into it, and returns their approximate size in JSON.
func (c *Converter) claim(ev *reader.Event, s ptrace.Span) (size int) {
	p := c.waiting.Take(spanqueue.KeyOf(ev))
	if p == nil {
		return 0
	}
	s.Events().EnsureCapacity(len(p.Value.events))
	for _, e := range p.Value.events {
		e.event.MoveTo(s.Events().AppendEmpty())
	}
	p.Value.links.MoveAndAppendTo(s.Links())
	return p.Bytes
}

// expire releases the spans whose first part is older than a time.
func (c *Converter) expire(before int64) {
	for p := c.waiting.Oldest(); p != nil && p.Value.since < before; p = c.waiting.Oldest() {
		c.waiting.Evict()
	}
}

// giveUp turns the events of a missing span into log records, and drops its links.
func (c *Converter) giveUp(p *spanqueue.Parts[parts]) {
	for i := range p.Value.events {
		c.release(&p.Value.events[i])
	}
	c.stats.OrphanLinks += uint64(p.Value.links.Len())
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
	for name, v := range e.record.Attributes().All() {
		putMissing(lr.Attributes(), name, v.CopyTo)
	}
	c.logs.bytes += e.bytes
	c.stats.OrphanEvents++
}
