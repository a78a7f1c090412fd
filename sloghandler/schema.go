package sloghandler

import (
	"slices"
	"strings"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/declared"
	"github.com/userevents/userevents-go/tracepoint"
)

// schema is what the payloads of an event hold, made ready for writing.
type schema struct {
	layout *typed.Layout
	begin  []byte // the write index and a payload without values

	// Offsets of the fields in a payload.
	atTime, atLevel, atTraceID, atSpanID, atTruncated int
	atMessage                                         int // -1: the event's name says it
	atSource, atAttributes                            int

	fields []field // the declared ones
	texts  int     // how many of these are texts
	dotted bool    // one of them may name groups
}

// field is a declared attribute.
type field struct {
	key  string
	name string
	typ  declared.Type
	at   int // offset in a payload
}

// declaration returns the declaration of an event: what all have in common, a message or declared
// fields. The package comment lists them.
func declaration(name string, declared []field) tracepoint.Declaration {
	textType := tracepoint.Dynamic(tracepoint.Char)
	fields := []tracepoint.Field{
		{Name: "time_unix_nano", Type: tracepoint.Scalar(tracepoint.U64)},
		{Name: "level", Type: tracepoint.Scalar(tracepoint.S32)},
		{Name: "trace_id", Type: textType},
		{Name: "span_id", Type: textType},
		{Name: "truncated", Type: tracepoint.Scalar(tracepoint.U32)},
	}
	if declared == nil {
		fields = append(fields, tracepoint.Field{Name: "message", Type: textType})
	}
	for _, f := range declared {
		fields = append(fields, tracepoint.Field{Name: f.name, Type: f.typ.Tracepoint()})
	}
	return tracepoint.Declaration{Name: name, Fields: append(fields,
		tracepoint.Field{Name: "source", Type: textType},
		tracepoint.Field{Name: "attributes", Type: textType},
	)}
}

// newSchema returns the schema of an event with a message, or with declared fields if these are not nil.
func newSchema(name string, declared []field) (*schema, error) {
	layout, err := typed.NewLayout(declaration(name, declared))
	if err != nil {
		return nil, err
	}
	at := layout.Offsets()
	s := &schema{
		layout: layout,
		begin:  layout.Begin(make([]byte, base)),
		atTime: at[0], atLevel: at[1], atTraceID: at[2], atSpanID: at[3], atTruncated: at[4],
		atMessage: -1, atSource: at[len(at)-2], atAttributes: at[len(at)-1],
		fields: slices.Clone(declared),
	}
	if declared == nil {
		s.atMessage = at[5]
	}
	for i := range s.fields {
		s.fields[i].at = at[5+i]
		if s.fields[i].typ.IsText() {
			s.texts++
		}
		s.dotted = s.dotted || strings.Contains(s.fields[i].key, ".")
	}
	return s, nil
}

// least is the smallest limit of a payload: beside the fixed part and the ids, an empty object and a few characters of
// each text.
func (s *schema) least() int {
	return s.layout.FixedSize() + typed.TraceIDSize + typed.SpanIDSize + leastJSON + leastText*(s.texts+2)
}

const (
	leastJSON = len("{}\x00")
	leastText = len(text.CutMark + "\x00")
)
