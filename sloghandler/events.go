package sloghandler

import (
	"slices"

	"github.com/userevents/userevents-go/internal/adapter/declared"
	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/uevents"
)

// output is an event and how its records are written.
type output struct {
	event  *eventset.Event
	schema *payload.Schema

	// Offsets of the fields in a payload; 0 for those that the event does not have.
	time, level, traceID, spanID, duplicate, message, source, attributes int
}

// The fields of an event. Those of a declaration take the place of duplicate and message.
// docs/wire-formats.md describes them.
var (
	headFields = []payload.Field{
		{Name: "time_unix_nano", Type: payload.U64},
		{Name: "level", Type: payload.S32},
		payload.TraceID,
		payload.SpanID,
		payload.Truncated,
	}
	levelFields = []payload.Field{
		{Name: "duplicate", Type: payload.U8},
		payload.TextField("message"),
	}
	tailFields = []payload.Field{
		payload.TextField("source"),
		payload.Attributes,
	}
)

var levelSchema = payload.MustSchema(slices.Concat(headFields, levelFields, tailFields)...)

func newOutput(event *eventset.Event, schema *payload.Schema) output {
	at := schema.At
	return output{
		event: event, schema: schema,
		time: at[0], level: at[1], traceID: at[2], spanID: at[3],
		source: at[len(at)-2], attributes: at[len(at)-1],
	}
}

func (s *sink) registerLevels() {
	for r := range s.levels {
		s.groups[r] = s.set.NewGroup()
		event, _ := s.set.Register(s.set.Name(rangeNames[r]), levelSchema, uevents.NameExact, s.groups[r])
		o := newOutput(event, levelSchema)
		o.duplicate, o.message = levelSchema.At[len(headFields)], levelSchema.At[len(headFields)+1]
		s.levels[r] = &o
	}
}

type declaredOutput struct {
	output

	declaration *declaration
	in          [ranges]bool // levels that belong to it
	begin       int          // offset of the first declared field
	fields      []field
	index       index
	first       *indexEntry // nil without fields
}

func (s *sink) registerDeclarations(list []AnyDeclaration, naming uevents.Naming) {
	naming = s.set.Naming(naming)
	if len(list) > 0 {
		s.declared = make(map[string]*declaredOutput, len(list))
	}
	declared.Register(s.set, list, AnyDeclaration.declaration, func(d *declaration) error { return s.registerDeclaration(d, naming) })
}

// registerDeclaration returns an error about the declaration. Those of registering are the set's.
func (s *sink) registerDeclaration(d *declaration, naming uevents.Naming) error {
	schema, fields, err := d.Layout(s.set, d.Name, headFields, tailFields)
	if err != nil {
		return err
	}
	out := &declaredOutput{declaration: d, in: rangesOf(d.Levels), begin: schema.At[len(headFields)], fields: newFields(fields)}
	out.index = newIndex(out.fields)
	out.first = out.index.behind(-1)
	s.index = append(s.index, out.index...)
	groups := make([]*uevents.Group, 0, ranges)
	for r, in := range out.in {
		if in {
			groups = append(groups, s.groups[r])
		}
	}
	event, _ := s.set.Register(s.set.Name(d.Name), schema, naming, groups...) // with an error, it is never enabled
	out.output = newOutput(event, schema)
	s.declare(out)
	return nil
}

// declaredFor returns the event of a record's declaration if it is enabled, or nil.
func (s *sink) declaredFor(message string, at int) *declaredOutput {
	d := s.lookup(message)
	if d == nil || !d.in[at] {
		return nil
	}
	if d.event.Matched.Set(); !d.event.Enabled() {
		return nil
	}
	return d
}

func (s *sink) declare(o *declaredOutput) {
	if n := len(s.declared); n < len(s.few) {
		s.few[n] = o
	}
	s.declared[o.declaration.Selector] = o
}

// lookup returns the output of a message, or nil.
func (s *sink) lookup(message string) *declaredOutput {
	if len(s.declared) > len(s.few) {
		return s.declared[message]
	}
	// Comparing a few texts takes less than hashing one.
	for i := range s.few {
		if d := s.few[i]; d != nil && d.declaration.Selector == message {
			return d
		}
	}
	return nil
}
