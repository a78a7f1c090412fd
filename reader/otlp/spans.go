package otlp

import (
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/userevents/userevents-go/reader"
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
	data         ptrace.Traces
	resources    map[*resource]ptrace.ResourceSpans
	scopes       map[origin]ptrace.SpanSlice
	spans, bytes int
}

func (t *traces) reset() {
	*t = traces{data: ptrace.NewTraces(), resources: map[*resource]ptrace.ResourceSpans{}, scopes: map[origin]ptrace.SpanSlice{}}
}

// group returns the spans of an origin.
func (t *traces) group(o origin) ptrace.SpanSlice {
	if list, ok := t.scopes[o]; ok {
		return list
	}
	r, ok := t.resources[o.resource]
	if !ok {
		r = t.data.ResourceSpans().AppendEmpty()
		o.resource.attributes.CopyTo(r.Resource().Attributes())
		t.resources[o.resource] = r
		t.bytes += o.resource.size
	}
	s := r.ScopeSpans().AppendEmpty()
	o.scope.scope.CopyTo(s.Scope())
	s.SetSchemaUrl(o.scope.schemaURL)
	t.bytes += o.scope.size + groupSize
	t.scopes[o] = s.Spans()
	return s.Spans()
}

// addSpan adds a span with its events and links, or keeps it until they arrive.
func (c *Converter) addSpan(ev *reader.Event) {
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
func (c *Converter) setSpan(s ptrace.Span, ev *reader.Event) (size int) {
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

func spanFlags(ev *reader.Event) uint32 {
	flags := uint32(ev.TraceFlags) | flagRemoteKnown
	if ev.ParentRemote {
		flags |= flagRemote
	}
	return flags
}
