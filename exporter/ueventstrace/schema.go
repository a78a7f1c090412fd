package ueventstrace

import (
	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
)

// field is one that an event may have.
type field uint8

const (
	startTime field = iota
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

var (
	u8       = tracepoint.Scalar(tracepoint.U8)
	u32      = tracepoint.Scalar(tracepoint.U32)
	u64      = tracepoint.Scalar(tracepoint.U64)
	s64      = tracepoint.Scalar(tracepoint.S64)
	textType = tracepoint.Dynamic(tracepoint.Char)
)

var declarations = [fieldCount]tracepoint.Field{
	startTime:          {Name: "start_time_unix_nano", Type: u64},
	recordTime:         {Name: "time_unix_nano", Type: u64},
	duration:           {Name: "duration_ns", Type: s64},
	traceID:            {Name: "trace_id", Type: textType},
	spanID:             {Name: "span_id", Type: textType},
	parentSpanID:       {Name: "parent_span_id", Type: textType},
	parentRemote:       {Name: "parent_is_remote", Type: u8},
	traceFlags:         {Name: "trace_flags", Type: u8},
	linkedTraceID:      {Name: "linked_trace_id", Type: textType},
	linkedSpanID:       {Name: "linked_span_id", Type: textType},
	kind:               {Name: "kind", Type: u8},
	statusCode:         {Name: "status_code", Type: u8},
	droppedAttributes:  {Name: "dropped_attributes_count", Type: u32},
	truncated:          {Name: "truncated", Type: u32},
	name:               {Name: "name", Type: textType},
	statusMessage:      {Name: "status_message", Type: textType},
	scopeName:          {Name: "scope_name", Type: textType},
	serviceName:        {Name: "service_name", Type: textType},
	resourceAttributes: {Name: "resource", Type: textType},
	attributes:         {Name: "attributes", Type: textType},
	trackEventType:     {Name: "track_event_type", Type: tracepoint.Scalar(tracepoint.Char)},
	sliceName:          {Name: "slice_name", Type: textType},
	trackName:          {Name: "track_name", Type: textType},
	scopeTrack:         {Name: "scope_track", Type: s64},
}

// idSizes are the sizes of the ids' texts.
var idSizes = [fieldCount]int{
	traceID:       typed.TraceIDSize,
	spanID:        typed.SpanIDSize,
	parentSpanID:  typed.SpanIDSize,
	linkedTraceID: typed.TraceIDSize,
	linkedSpanID:  typed.SpanIDSize,
}

// event is one of the events.
type event uint8

const (
	spanStart event = iota
	spanEnd
	spanEvent
	spanLink
	slice
	events
)

var eventNames = [events]string{
	spanStart: "_span_start",
	spanEnd:   "_span",
	spanEvent: "_span_event",
	spanLink:  "_span_link",
	slice:     "_slice",
}

// contents are the fields of each event. The package comment lists them.
var contents = [events][]field{
	spanStart: {
		startTime, traceID, spanID, parentSpanID, parentRemote, traceFlags, kind, truncated,
		name, scopeName, serviceName, resourceAttributes, attributes,
	},
	spanEnd: {
		startTime, duration, traceID, spanID, parentSpanID, parentRemote, traceFlags, kind, statusCode,
		droppedAttributes, truncated,
		name, statusMessage, scopeName, serviceName, resourceAttributes, attributes,
	},
	spanEvent: {
		recordTime, traceID, spanID, droppedAttributes, truncated,
		name, scopeName, serviceName, resourceAttributes, attributes,
	},
	spanLink: {
		traceID, spanID, linkedTraceID, linkedSpanID, traceFlags, droppedAttributes, truncated,
		scopeName, serviceName, resourceAttributes, attributes,
	},
	slice: {trackEventType, traceID, spanID, scopeTrack, truncated, sliceName, trackName},
}

const absent = -1

// schema is what the payloads of an event hold, made ready for writing.
type schema struct {
	layout *typed.Layout
	begin  []byte          // the write index and a payload without values
	at     [fieldCount]int // offsets in a payload; absent for fields that the event has not
	least  int             // limit: beside the fixed part and the ids, an empty object and a few characters of each text
}

const (
	leastJSON = len("{}\x00")
	leastText = len(text.CutMark + "\x00")
)

func newSchema(fullName string, fields []field) (*schema, error) {
	d := tracepoint.Declaration{Name: fullName}
	s := &schema{}
	for i := range s.at {
		s.at[i] = absent
	}
	texts, ids := 0, 0
	for _, f := range fields {
		d.Fields = append(d.Fields, declarations[f])
		switch {
		case idSizes[f] > 0:
			ids += idSizes[f]
		case declarations[f].Type == textType:
			texts++
		}
	}
	var err error
	if s.layout, err = typed.NewLayout(d); err != nil {
		return nil, err
	}
	for i, at := range s.layout.Offsets() {
		s.at[fields[i]] = at
	}
	s.begin = s.layout.Begin(make([]byte, base))
	s.least = s.layout.FixedSize() + ids + leastJSON + leastText*texts
	return s, nil
}
