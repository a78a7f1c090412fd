package otlp

import (
	"container/list"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/userevents/userevents-go/internal/tool/spanqueue"
	"github.com/userevents/userevents-go/record"
)

// Flags of spans, besides the trace flags.
const (
	flagRemoteKnown = 0x100
	flagRemote      = 0x200
)

const (
	spanSize = len(`{"traceId":"","spanId":"","traceState":,"parentSpanId":"","flags":1023,"name":,"kind":5,"startTimeUnixNano":"",`+
		`"endTimeUnixNano":"","attributes":[],"droppedAttributesCount":,"events":[],"droppedEventsCount":,"links":[],`+
		`"droppedLinksCount":,"status":{"message":,"code":2}},`) + 2*(16+8+8) + 5*numberSize
	spanEventSize = len(`{"timeUnixNano":"","name":,"attributes":[],"droppedAttributesCount":},`) + 2*numberSize
	spanLinkSize  = len(`{"traceId":"","spanId":"","traceState":,"attributes":[],"droppedAttributesCount":,"flags":1023},`) + 2*(16+8) + numberSize
)

// traces are the spans since the last Take.
type traces struct {
	data  ptrace.Traces
	spans int
	groups[ptrace.ResourceSpans, ptrace.ScopeSpans, ptrace.SpanSlice]
}

func (t *traces) reset() {
	data := ptrace.NewTraces()
	scope := func(r ptrace.ResourceSpans) ptrace.ScopeSpans { return r.ScopeSpans().AppendEmpty() }
	*t = traces{data: data, groups: newGroups(data.ResourceSpans().AppendEmpty, scope, ptrace.ScopeSpans.Spans)}
}

// addSpan adds a span with its events and links, or keeps it until they arrive.
func (c *Converter) addSpan(ev *record.Record) {
	o := c.originOf(ev)
	if c.isIncomplete(ev) {
		h := heldSpan{span: ptrace.NewSpan(), origin: o, events: ev.EventCount, links: ev.LinkCount}
		h.bytes = c.setSpan(h.span, ev)
		c.keepSpan(ev, &h)
		return
	}
	s := c.appendSpan(o)
	c.traces.bytes += c.setSpan(s, ev) + c.claim(ev, s)
}

// appendSpan adds an empty span.
func (c *Converter) appendSpan(o origin) ptrace.Span {
	c.traces.spans++
	c.stats.Spans++
	return c.traces.group(o).AppendEmpty()
}

// setSpan sets a span from its record, and returns its approximate size in JSON.
func (c *Converter) setSpan(s ptrace.Span, ev *record.Record) (size int) {
	s.SetTraceID(ev.TraceID)
	s.SetSpanID(ev.SpanID)
	s.SetParentSpanID(ev.ParentSpanID)
	s.TraceState().FromRaw(c.texts.keep(ev.TraceState))
	s.SetFlags(spanFlags(ev))
	s.SetName(c.texts.keep(ev.Message))
	s.SetKind(ptrace.SpanKind(ev.SpanKind))
	start := ev.Timestamp
	if start.IsZero() {
		start = ev.Time.Add(-ev.Duration)
	}
	s.SetStartTimestamp(timestamp(start))
	s.SetEndTimestamp(timestamp(start.Add(ev.Duration)))
	s.Status().SetCode(ptrace.StatusCode(ev.Status))
	s.Status().SetMessage(c.texts.keep(ev.StatusMessage))
	s.SetDroppedAttributesCount(ev.DroppedAttributes)
	s.SetDroppedEventsCount(ev.DroppedEvents)
	s.SetDroppedLinksCount(ev.DroppedLinks)
	size = spanSize + jsonSize(ev.Message) + jsonSize(ev.TraceState) + jsonSize(ev.StatusMessage)
	size += c.putAttributes(s.Attributes(), ev)

	for i := range ev.NestedEvents {
		e := &ev.NestedEvents[i]
		to := s.Events().AppendEmpty()
		to.SetTimestamp(timestamp(e.Time))
		to.SetName(c.texts.keep(e.Name))
		to.SetDroppedAttributesCount(e.DroppedAttributes)
		size += c.putAll(to.Attributes(), e.Attributes, 0) + jsonSize(e.Name) + spanEventSize
	}
	for i := range ev.NestedLinks {
		l := &ev.NestedLinks[i]
		to := s.Links().AppendEmpty()
		to.SetTraceID(l.TraceID)
		to.SetSpanID(l.SpanID)
		to.SetFlags(uint32(l.TraceFlags))
		to.TraceState().FromRaw(c.texts.keep(l.TraceState))
		to.SetDroppedAttributesCount(l.DroppedAttributes)
		size += c.putAll(to.Attributes(), l.Attributes, 0) + jsonSize(l.TraceState) + spanLinkSize
	}
	return size
}

func spanFlags(ev *record.Record) uint32 {
	flags := uint32(ev.TraceFlags) | flagRemoteKnown
	if ev.ParentRemote {
		flags |= flagRemote
	}
	return flags
}

// maxSpanBytes limits the size of the events and links of one span, in bytes of JSON. Destinations limit the size of a
// message, and the converter never splits a span.
const maxSpanBytes = 512 << 10

const (
	partsSize  = 400     // memory of a waiting span, beside that of its parts
	minWaiting = 4 << 10 // least effective Options.MaxBytes
)

// parts are the events and links of a span that did not arrive yet, or that lacks others.
type parts struct {
	events []spanEvent
	links  ptrace.SpanLinkSlice
	span   *heldSpan // nil if it did not arrive yet
	// place is that in Converter.leaving, and until the time until which the parts wait; nil and 0 while the span may go on.
	place *list.Element
	until int64
	// Numbers of events and links that arrived, with those that were too large to keep.
	arrivedEvents, arrivedLinks uint32
}

// heldSpan is a span that arrived before some of its parts: records that are written on several CPUs can come out of
// order.
type heldSpan struct {
	span          ptrace.Span
	origin        origin
	events, links uint32 // numbers of its parts
	bytes         int
}

func (p *parts) isComplete() bool {
	return p.span != nil && p.arrivedEvents >= p.span.events && p.arrivedLinks >= p.span.links
}

// isIncomplete reports whether events or links of a span are still to arrive. If none of any span ever did, no tool is
// attached to them. In the Common Schema they are in the span's record.
func (c *Converter) isIncomplete(ev *record.Record) bool {
	if ev.Header != nil || ev.EventCount == 0 && ev.LinkCount == 0 {
		return false
	}
	var events, links uint32
	if p := c.waiting.Get(spanqueue.KeyOf(ev)); p != nil {
		events, links = p.Value.arrivedEvents, p.Value.arrivedLinks
	}
	return c.hasEvents && ev.EventCount > events || c.hasLinks && ev.LinkCount > links
}

// keepSpan keeps a span for its missing parts.
func (c *Converter) keepSpan(ev *record.Record, h *heldSpan) {
	p := c.partsOf(ev)
	if p.Value.span != nil { // another one with the same ids
		c.giveUp(c.waiting.Take(p.Key))
		p = c.partsOf(ev)
	}
	p.Value.span = h
	c.limit(p)
	c.waiting.Grow(p, h.bytes)
}

// spanEvent is an event of a span, with the data for a log record.
type spanEvent struct {
	event  ptrace.SpanEvent
	origin origin
	record plog.LogRecord // without the data in event
	bytes  int
}

// keepEvent keeps an event for its span.
func (c *Converter) keepEvent(ev *record.Record) {
	e := spanEvent{event: ptrace.NewSpanEvent(), origin: c.originOf(ev), record: plog.NewLogRecord(), bytes: spanEventSize + jsonSize(ev.Message)}
	e.event.SetName(c.texts.keep(ev.Message))
	e.event.SetTimestamp(timestampOr(ev.Timestamp, ev.Time))
	e.event.SetDroppedAttributesCount(ev.DroppedAttributes)
	c.reserve(e.event.Attributes(), len(ev.Fields())) // a log record gets them if the span does not arrive
	e.bytes += c.putAll(e.event.Attributes(), ev.Fields(), 0) + putTruncated(e.event.Attributes(), ev) + c.putOrigin(e.record.Attributes(), ev)
	e.record.SetObservedTimestamp(timestamp(ev.Time))
	e.record.SetTraceID(ev.TraceID)
	e.record.SetSpanID(ev.SpanID)
	e.record.SetFlags(plog.LogRecordFlags(ev.TraceFlags))
	if ev.SpanID == ([8]byte{}) { // of a span that is not recorded
		c.release(&e)
		return
	}
	p := c.partsOf(ev)
	c.hasEvents = true
	p.Value.arrivedEvents++
	if p.Bytes+e.bytes > maxSpanBytes {
		c.release(&e)
		e.bytes = 0
	} else {
		p.Value.events = append(p.Value.events, e)
	}
	c.grow(p, e.bytes)
}

// keepLink keeps a link for its span.
func (c *Converter) keepLink(ev *record.Record) {
	if ev.SpanID == ([8]byte{}) {
		c.stats.OrphanLinks++
		return
	}
	l := ptrace.NewSpanLink()
	l.SetTraceID(ev.LinkedTraceID)
	l.SetSpanID(ev.LinkedSpanID)
	l.SetFlags(uint32(ev.TraceFlags))
	l.TraceState().FromRaw(c.texts.keep(ev.TraceState))
	l.SetDroppedAttributesCount(ev.DroppedAttributes)
	bytes := c.putAll(l.Attributes(), ev.Fields(), 0) + putTruncated(l.Attributes(), ev) + jsonSize(ev.TraceState) + spanLinkSize
	p := c.partsOf(ev)
	c.hasLinks = true
	p.Value.arrivedLinks++
	if p.Bytes+bytes > maxSpanBytes {
		c.stats.OrphanLinks++
		bytes = 0
	} else {
		l.MoveTo(p.Value.links.AppendEmpty())
	}
	c.grow(p, bytes)
}

// grow counts the bytes of a part that was added, and adds the span if it is complete now.
func (c *Converter) grow(p *spanqueue.Parts[parts], bytes int) {
	if p.Value.isComplete() {
		c.waiting.Take(p.Key)
		p.Bytes += bytes
		c.giveUp(p)
		return
	}
	c.waiting.Grow(p, bytes)
}

// partsOf returns the parts that wait for the span of an event.
func (c *Converter) partsOf(ev *record.Record) *spanqueue.Parts[parts] {
	key := spanqueue.KeyOf(ev)
	if p := c.waiting.Get(key); p != nil {
		return p
	}
	return c.waiting.Add(key, parts{links: ptrace.NewSpanLinkSlice()}, partsSize)
}

// claim moves the waiting parts of a span into it, and returns their approximate size in JSON.
func (c *Converter) claim(ev *record.Record, s ptrace.Span) (size int) {
	p := c.waiting.Take(spanqueue.KeyOf(ev))
	if p == nil {
		return 0
	}
	if p.Value.span != nil { // another one with the same ids
		c.giveUp(p)
		return 0
	}
	c.unlimit(p)
	p.Value.moveTo(s)
	return p.Bytes
}

// moveTo moves the events and links to a span.
func (p *parts) moveTo(s ptrace.Span) {
	s.Events().EnsureCapacity(s.Events().Len() + len(p.events))
	for _, e := range p.events {
		e.event.MoveTo(s.Events().AppendEmpty())
	}
	p.links.MoveAndAppendTo(s.Links())
}

// limit makes parts wait for Options.MaxWait from now on: all that can still arrive is late.
func (c *Converter) limit(p *spanqueue.Parts[parts]) {
	if p.Value.place == nil {
		p.Value.place, p.Value.until = c.leaving.PushBack(p), c.now+int64(c.o.MaxWait)
	}
}

// unlimit forgets the limit of parts that wait no more.
func (c *Converter) unlimit(p *spanqueue.Parts[parts]) {
	if p.Value.place != nil {
		c.leaving.Remove(p.Value.place)
	}
}

// expire gives up what waits until a time before now.
func (c *Converter) expire(now int64) {
	for e := c.leaving.Front(); e != nil; e = c.leaving.Front() {
		p := e.Value.(*spanqueue.Parts[parts])
		if p.Value.until >= now {
			return
		}
		c.giveUp(c.waiting.Take(p.Key))
	}
}

// giveUp adds a span with the parts that arrived. Without the span, it turns the events into log records, and drops the
// links.
func (c *Converter) giveUp(p *spanqueue.Parts[parts]) {
	c.unlimit(p)
	if h := p.Value.span; h != nil {
		s := c.appendSpan(h.origin)
		h.span.MoveTo(s)
		p.Value.moveTo(s)
		c.traces.bytes += p.Bytes
		return
	}
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
