package ueventstrace

import (
	"github.com/userevents/userevents-go/internal/payload"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

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

// event is one of the events.
type event uint8

const (
	spanStart event = iota
	spanEnd
	spanEvent
	spanLink
	slice
	eventCount
)

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
