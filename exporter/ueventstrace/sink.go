package ueventstrace

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/commonschema"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

type sink struct {
	component.Component

	events   [eventCount]*component.Event // nil for those that are not registered
	perfetto *perfetto                    // nil without WithPerfettoSlices

	// What spans of the SDK have in common: that of the last one, and those of each scope.
	last    atomic.Pointer[origin]
	origins component.Scopes[origin]
}

// newSink registers these events. The sink is never nil and always usable.
func newSink(name string, kind selfobs.Component, list []event, c *config) (*sink, error) {
	s := &sink{Component: component.Open("ueventstrace", name, c.Config)}
	if s.CommonSchema4 {
		if c.perfetto {
			s.Invalid(errors.New("slices for Perfetto are typed events: WithPerfettoSlices does not go with CommonSchema4"))
		}
		e, _ := commonschema.Register(s.Set, name, commonschema.KeywordSpans, spanHeader, leastPartB) // the error stays with the set
		s.events[spanEnd] = &component.Event{Event: e}
	} else {
		if c.perfetto {
			list = append(slices.Clip(list), slice)
		}
		for _, ev := range list {
			s.events[ev] = s.RegisterTyped(suffixes[ev], schemas[ev])
		}
		if c.perfetto {
			s.perfetto = newPerfetto(s)
		}
	}
	return s, s.Publish(kind, s.events[spanEnd].Stats) // a span counts once, however many records it has
}

// originOf returns what the spans of a scope and a resource have in common. It does not allocate for those that it has seen,
// as long as they are not very many.
func (s *sink) originOf(scope instrumentation.Scope, resource *attrs.Described) *origin {
	if o := s.last.Load(); o != nil && o.resource == resource && o.scope == scope {
		return o
	}
	o := s.origins.Get(scope)
	if o == nil || o.resource != resource {
		o = newOrigin(scope, resource, s.Limit)
		s.origins.Add(scope, o) // the first provider's, if the processor has several
	}
	s.last.Store(o)
	return o
}

// enabled returns an event, or nil if it is disabled.
func (s *sink) enabled(ev event) *component.Event {
	if e := s.events[ev]; e != nil && e.Enabled() {
		return e
	}
	return nil
}

// The fields that an event may have.
const (
	startTime = iota
	recordTime
	duration
	traceID
	spanID
	parentSpanID
	parentRemote
	traceFlags
	linkedTraceID
	linkedSpanID
	kind
	statusCode
	droppedAttributes
	eventsCount
	linksCount
	truncated
	name
	statusMessage
	scopeName
	serviceName
	resourceAttributes
	attributes
	trackEventType
	sliceName
	trackName
	scopeTrack
	fieldCount
)

var fields = [fieldCount]payload.Field{
	startTime:          {Name: "start_time_unix_nano", Type: payload.U64},
	recordTime:         {Name: "time_unix_nano", Type: payload.U64},
	duration:           {Name: "duration_ns", Type: payload.S64},
	traceID:            payload.TraceID,
	spanID:             payload.SpanID,
	parentSpanID:       {Name: "parent_span_id", Type: payload.String, Size: typedfield.SpanIDSize},
	parentRemote:       {Name: "parent_is_remote", Type: payload.U8},
	traceFlags:         {Name: "trace_flags", Type: payload.U8},
	linkedTraceID:      {Name: "linked_trace_id", Type: payload.String, Size: typedfield.TraceIDSize},
	linkedSpanID:       {Name: "linked_span_id", Type: payload.String, Size: typedfield.SpanIDSize},
	kind:               {Name: "kind", Type: payload.U8},
	statusCode:         {Name: "status_code", Type: payload.U8},
	droppedAttributes:  {Name: "dropped_attributes_count", Type: payload.U32},
	eventsCount:        {Name: "events", Type: payload.U32},
	linksCount:         {Name: "links", Type: payload.U32},
	truncated:          payload.Truncated,
	name:               payload.TextField("name"),
	statusMessage:      payload.TextField("status_message"),
	scopeName:          payload.TextField("scope_name"),
	serviceName:        payload.TextField("service_name"),
	resourceAttributes: {Name: "resource", Type: payload.String, Class: payload.JSON},
	attributes:         payload.Attributes,
	trackEventType:     {Name: "track_event_type", Type: tracepoint.Scalar(tracepoint.Char)},
	sliceName:          payload.TextField("slice_name"),
	trackName:          payload.TextField("track_name"),
	scopeTrack:         {Name: "scope_track", Type: payload.S64},
}

type event uint8

const (
	spanStart event = iota
	spanEnd
	spanEvent
	spanLink
	slice
	eventCount
)

// allEvents are those of a processor or a provider without WithPerfettoSlices.
var allEvents = []event{spanStart, spanEnd, spanEvent, spanLink}

// suffixes end the names of the events.
var suffixes = [eventCount]string{
	spanStart: "span_start",
	spanEnd:   "span",
	spanEvent: "span_event",
	spanLink:  "span_link",
	slice:     "slice",
}

// schemas have the fields of each event, which docs/wire-formats.md lists. Texts are written in their order.
var schemas = [eventCount]*payload.Schema{
	spanStart: payload.Subset(fields[:],
		startTime, traceID, spanID, parentSpanID, parentRemote, traceFlags, kind, truncated,
		name, scopeName, serviceName, resourceAttributes, attributes),
	spanEnd: payload.Subset(fields[:],
		startTime, duration, traceID, spanID, parentSpanID, parentRemote, traceFlags, kind, statusCode,
		droppedAttributes, eventsCount, linksCount, truncated,
		name, statusMessage, scopeName, serviceName, resourceAttributes, attributes),
	spanEvent: payload.Subset(fields[:],
		recordTime, traceID, spanID, droppedAttributes, truncated,
		name, scopeName, serviceName, resourceAttributes, attributes),
	spanLink: payload.Subset(fields[:],
		traceID, spanID, linkedTraceID, linkedSpanID, traceFlags, droppedAttributes, truncated,
		scopeName, serviceName, resourceAttributes, attributes),
	slice: payload.Subset(fields[:], trackEventType, traceID, spanID, scopeTrack, truncated, sliceName, trackName),
}

// spanData is what events say of a span. Its writers neither keep it nor let it escape.
type spanData struct {
	context, parent identity // the ids in events, flags
	state           trace.TraceState
	kind            trace.SpanKind
	name            string
	start           time.Time
	end             time.Time     // zero: duration after start
	duration        time.Duration // of a span that has ended
	status          sdktrace.Status
	attributes      attrs.List       // each key once
	events          []sdktrace.Event // those that have not been written
	links           []sdktrace.Link  // the same

	eventCount, linkCount       int // those that have been written, or were added while their event was disabled
	droppedEvents, droppedLinks int

	*origin
}

// origin is what all spans of a tracer have in common.
type origin struct {
	scope    instrumentation.Scope
	resource *attrs.Described
	known    *attrs.Known // both, or nil
}

// endTime returns when a span ended.
func (d *spanData) endTime() time.Time {
	if d.end.IsZero() {
		return d.start.Add(d.duration)
	}
	return d.end
}

func newOrigin(scope instrumentation.Scope, resource *attrs.Described, limit int) *origin {
	o := &origin{scope: scope, resource: resource}
	o.known = attrs.NewKnown(&o.scope, resource, limit)
	return o
}

func (s *sink) writeStart(o *component.Event, d *spanData) error {
	var r component.Record
	o.Begin(&r)
	s.span(&r, d, "")
	_, err := r.Write()
	return err
}

func (s *sink) writeEnd(o *component.Event, d *spanData) error {
	if s.CommonSchema4 {
		return s.writeCommonSchema(o, d)
	}
	var r component.Record
	o.Begin(&r)
	r.U64(duration, uint64(d.duration))
	r.U8(statusCode, statusNumber(d.status.Code))
	r.U32(droppedAttributes, uint32(d.attributes.Dropped))
	r.U32(eventsCount, uint32(d.eventCount+len(d.events)))
	r.U32(linksCount, uint32(d.linkCount+len(d.links)))
	s.span(&r, d, d.status.Description)
	_, err := r.Write()
	return err
}

// span writes what the events of a span's start and end have in common, and the description of its status if the
// event has one.
func (s *sink) span(r *component.Record, d *spanData, status string) {
	r.U64(startTime, typedfield.UnixNano(d.start))
	r.U8(parentRemote, typedfield.Bool(d.parent.remote))
	r.U8(traceFlags, uint8(d.context.flags))
	r.U8(kind, uint8(max(d.kind, 0)))
	putSpan(r, &d.context)
	r.ID(parentSpanID, d.parent.spanID[:], d.parent.spanID.IsValid())
	r.Text(name, d.name)
	r.Text(statusMessage, status)
	s.attributes(r, d.origin, d.attributes.All, rest{d.state.String(), d.droppedEvents, d.droppedLinks}, attrjson.KeepAll)
}

// statusNumber returns the protocol's number of a status, which is not that of the Go package.
func statusNumber(c codes.Code) uint8 {
	switch c {
	case codes.Ok:
		return 1
	case codes.Error:
		return 2
	default:
		return 0
	}
}

func (s *sink) writeEvent(o *component.Event, span *identity, from *origin, ev *sdktrace.Event) error {
	var r component.Record
	o.Begin(&r)
	r.U64(recordTime, typedfield.UnixNano(ev.Time))
	r.U32(droppedAttributes, uint32(ev.DroppedAttributeCount))
	putSpan(&r, span)
	r.Text(name, ev.Name)
	s.attributes(&r, from, ev.Attributes, rest{}, attrjson.KeepLast)
	_, err := r.Write()
	return err
}

func (s *sink) writeLink(o *component.Event, span *identity, from *origin, link *sdktrace.Link) error {
	to := identityOf(link.SpanContext)
	var r component.Record
	o.Begin(&r)
	r.U8(traceFlags, uint8(to.flags))
	r.U32(droppedAttributes, uint32(link.DroppedAttributeCount))
	putSpan(&r, span)
	r.ID(linkedTraceID, to.traceID[:], to.traceID.IsValid())
	r.ID(linkedSpanID, to.spanID[:], to.spanID.IsValid())
	s.attributes(&r, from, link.Attributes, rest{traceState: link.SpanContext.TraceState().String()}, attrjson.KeepLast)
	_, err := r.Write()
	return err
}

func putSpan(r *component.Record, span *identity) {
	r.ID(traceID, span.traceID[:], span.traceID.IsValid())
	r.ID(spanID, span.spanID[:], span.spanID.IsValid())
}

// endEvents are the events that are written when a span ends: each is nil while it is disabled.
type endEvents struct{ link, event, span *component.Event }

// writeEnded writes these events of a span that has ended. The span itself comes last: a tool that sees it has seen
// its parts.
func (s *sink) writeEnded(on endEvents, d *spanData) (first error) {
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	if on.link != nil {
		for i := range d.links {
			keep(s.writeLink(on.link, &d.context, d.origin, &d.links[i]))
		}
	}
	if on.event != nil {
		for i := range d.events {
			keep(s.writeEvent(on.event, &d.context, d.origin, &d.events[i]))
		}
	}
	if on.span != nil {
		keep(s.writeEnd(on.span, d))
	}
	return first
}

// Names of what has no field of its own. OpenTelemetry has none for the trace state.
const (
	keyTraceState    = "user_events.trace_state"
	keyDroppedEvents = "otel.dropped_events_count"
	keyDroppedLinks  = "otel.dropped_links_count"
)

// rest is what few records have: it is written as attributes, which come after those of the record.
type rest struct {
	traceState                  string
	droppedEvents, droppedLinks int
}

// attributes writes where a record comes from, and its attributes. The SDK removes duplicates of spans, but not of events
// and links.
func (s *sink) attributes(r *component.Record, from *origin, list []attribute.KeyValue, more rest, duplicates attrjson.Duplicates) {
	origin := &r.Event.Origin
	if from.known != nil {
		origin.PutKnown(&r.Builder, from.known)
	} else {
		origin.Put(&r.Builder, &from.scope, from.resource)
	}
	w := r.Object()
	for i := range list {
		attrs.WriteMember(&w, &list[i], &duplicates)
	}
	if from.known != nil {
		origin.WriteKnownScope(&w, from.known)
	} else {
		origin.WriteScope(&w, &from.scope)
	}
	attrs.WriteText(&w, keyTraceState, more.traceState)
	attrs.WriteCount(&w, keyDroppedEvents, more.droppedEvents)
	attrs.WriteCount(&w, keyDroppedLinks, more.droppedLinks)
	r.EndObject(r.At(attributes), &w, duplicates)
}

// A span of the SDK copies itself for each call of one of its methods: each is called once, and only for events that are
// enabled. One assignment for each result takes the fewest instructions.

// writeStarted writes the start of a span of the SDK, and begins its slice, each unless it is nil.
func (s *sink) writeStarted(sp sdktrace.ReadOnlySpan, start *component.Event, slices *perfetto) {
	sc := sp.SpanContext()
	context, parent, name, resource := identityOf(sc), identityOf(sp.Parent()), sp.Name(), s.Resources.Describe(sp.Resource())
	if start != nil {
		d := spanData{context: context, state: sc.TraceState(), parent: parent, name: name}
		d.origin = s.originOf(sp.InstrumentationScope(), resource)
		readSpan(&d, sp)
		s.Handle(s.writeStart(start, &d))
	}
	if slices != nil {
		slices.begin(&context, &parent, name, resource)
	}
}

// writeSnapshot writes the events of a span of the SDK that has ended, as far as they are enabled.
func (s *sink) writeSnapshot(sp sdktrace.ReadOnlySpan) error {
	on := endEvents{link: s.enabled(spanLink), event: s.enabled(spanEvent), span: s.enabled(spanEnd)}
	if on == (endEvents{}) {
		return nil
	}
	var d spanData
	sc := sp.SpanContext()
	d.context, d.state = identityOf(sc), sc.TraceState()
	d.origin = s.originOf(sp.InstrumentationScope(), s.Resources.Describe(sp.Resource()))
	if on.span != nil {
		d.parent = identityOf(sp.Parent())
		d.name = sp.Name()
		d.end = sp.EndTime()
		d.status = sp.Status()
		d.attributes.Dropped = sp.DroppedAttributes()
		readSpan(&d, sp)
		d.duration = d.end.Sub(d.start)
	}
	if on.span != nil || on.event != nil {
		d.events = sp.Events()
	}
	if on.span != nil || on.link != nil {
		d.links = sp.Links()
	}
	return s.writeEnded(on, &d)
}

// readSpan reads what only the events of a span's start and end say, and not those of its parts or its slice.
func readSpan(d *spanData, sp sdktrace.ReadOnlySpan) {
	d.kind = sp.SpanKind()
	d.start = sp.StartTime()
	d.attributes.All = sp.Attributes()
	d.droppedEvents = sp.DroppedEvents()
	d.droppedLinks = sp.DroppedLinks()
}
