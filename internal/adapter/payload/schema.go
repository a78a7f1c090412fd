// Package payload builds the payloads of typed events: fields of fixed size, texts, and one JSON object of
// attributes. All adapters build their records with it.
//
// A record is built without a limit. One that turns out to be larger than its limit is truncated afterwards, by the
// rules of package truncate: a record that fits costs nothing more, and what survives does not depend on the order
// in which fields are written.
package payload

import (
	"fmt"
	"slices"

	"github.com/userevents/userevents-go/internal/truncate"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// Base is where a payload begins in the buffer: behind the write index.
const Base = uevents.IndexSize

// Class says how the bytes of a dynamic field are cut.
type Class uint8

// The classes.
const (
	Number Class = iota // in the fixed part, or a text or array that is never cut
	Text                // a text that package text escaped
	JSON                // an object of package attrjson
	List                // a text of elements with commas between them
	Array               // integers
)

// Field is a field of an event.
type Field struct {
	Name  string
	Type  tracepoint.Type
	Class Class
	Size  int // bytes that a dynamic field of class Number takes at most, with its NUL
}

// Fields that several events have. The ids are hex digits; an id that is not set is an empty text.
var (
	TraceID = Field{Name: "trace_id", Type: String, Size: typedfield.TraceIDSize}
	SpanID  = Field{Name: "span_id", Type: String, Size: typedfield.SpanIDSize}
	// Truncated counts the texts and attributes that were cut or dropped because the record did not fit.
	Truncated  = Field{Name: "truncated", Type: U32}
	Attributes = Field{Name: "attributes", Type: String, Class: JSON}
)

// Types of fields.
var (
	U8     = tracepoint.Scalar(tracepoint.U8)
	U32    = tracepoint.Scalar(tracepoint.U32)
	U64    = tracepoint.Scalar(tracepoint.U64)
	S32    = tracepoint.Scalar(tracepoint.S32)
	S64    = tracepoint.Scalar(tracepoint.S64)
	String = tracepoint.Dynamic(tracepoint.Char)
)

// TextField returns a field that holds text.
func TextField(name string) Field { return Field{Name: name, Type: String, Class: Text} }

// Schema is the layout of an event's payloads. It does not change and may be used concurrently.
type Schema struct {
	Layout *typedfield.Layout
	At     []int // offsets of the fields in a payload

	begin       []byte // the write index and a payload in which everything is zero or empty
	dynamic     []dynamicField
	atTruncated int // -1 if there is no such field
	least       int
}

// dynamicField is a field whose bytes are behind the fixed part.
type dynamicField struct {
	at    int
	class Class
	array bool // not a text: there is no NUL
	elem  int  // size of its elements
}

// NewSchema returns the schema of an event with these fields. The error wraps [tracepoint.ErrInvalid].
func NewSchema(name string, fields []Field) (*Schema, error) {
	d := tracepoint.Declaration{Name: name, Fields: make([]tracepoint.Field, len(fields))}
	for i, f := range fields {
		d.Fields[i] = tracepoint.Field{Name: f.Name, Type: f.Type}
	}
	layout, err := typedfield.NewLayout(d)
	if err != nil {
		return nil, err
	}
	s := &Schema{Layout: layout, At: layout.Offsets(), begin: layout.Begin(make([]byte, Base)), atTruncated: -1, least: layout.FixedSize()}
	for i, f := range fields {
		if f.Name == Truncated.Name {
			s.atTruncated = s.At[i]
		}
		if f.Type.Location == tracepoint.Fixed {
			continue
		}
		isText := f.Type.Kind == tracepoint.Char
		s.dynamic = append(s.dynamic, dynamicField{at: s.At[i], class: f.Class, array: !isText, elem: f.Type.Kind.Size()})
		switch f.Class {
		case Text, List:
			s.least += len(truncate.Mark) + 1
		case JSON:
			s.least += len("{}") + 1
		default:
			s.least += f.Size
		}
	}
	return s, nil
}

// MustSchema is [NewSchema] for fields that are constants.
func MustSchema(fields ...Field) *Schema {
	s, err := NewSchema("any", fields)
	if err != nil {
		panic(err)
	}
	return s
}

// Subset returns the schema of one of several events that share a table of fields. At has an offset for each field of
// the table, -1 for those that the event does not have. The fields are constants, as those of [MustSchema].
func Subset(table []Field, fields ...int) *Schema {
	some := make([]Field, len(fields))
	for i, f := range fields {
		some[i] = table[f]
	}
	s := MustSchema(some...)
	at := slices.Repeat([]int{-1}, len(table))
	for i, f := range fields {
		at[f] = s.At[i]
	}
	s.At = at
	return s
}

// Declaration returns the declaration of an event with the schema's fields.
func (s *Schema) Declaration(name string) tracepoint.Declaration {
	d := s.Layout.Declaration()
	d.Name = name
	return d
}

// CheckLimit returns an error if payloads of at most limit bytes do not have room for the numbers, the ids and a mark for each text.
func (s *Schema) CheckLimit(limit int) error {
	if limit < s.least {
		return fmt.Errorf("a limit of %d bytes is too small: the event takes at least %d", limit, s.least)
	}
	return nil
}
