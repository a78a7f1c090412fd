package ueventslog

import (
	"fmt"

	"github.com/userevents/userevents-go/exporter/internal/commonschema"
	"github.com/userevents/userevents-go/internal/declared"
	"github.com/userevents/userevents-go/internal/eventset"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// registerSeverities registers the events of the ranges of severities.
func (s *sink) registerSeverities(name string) {
	s.anySeverity = s.NewGroup()
	for r := range s.severities {
		if r == rangeFatal && !s.CommonSchema4 {
			s.severities[r] = s.severities[rangeError]
			break
		}
		group := s.NewGroup()
		var event *eventset.Event
		if s.CommonSchema4 {
			event, _ = commonschema.Register(s.Set, name, commonschema.KeywordLogs, header(r, logName), leastPartB, s.anySeverity, group)
		} else {
			event, _ = s.Register(s.Name(namePrefix+rangeNames[r]), severitySchema.Schema, uevents.NameExact, s.anySeverity, group)
		}
		s.severities[r] = severityEvent{event, group}
	}
}

// recordEvent is the event of a declared record.
type recordEvent struct {
	*eventset.Event // nil in the Common Schema, which has the records in the tracepoints of their severities
	*schema
	fields []declared.Field
	name   string       // in the Common Schema
	in     [ranges]bool // severities that belong to it
}

// enabled reports whether a tracing tool is attached to the event. A record may have none.
func (r *recordEvent) enabled() bool { return r != nil && r.Event != nil && r.Enabled() }

// registerDeclarations registers the events of declared records. Records that cannot have an event of their own are only
// in their severity's event.
func (s *sink) registerDeclarations(c *config) {
	naming := s.Naming(c.naming)
	for _, d := range c.declarations {
		if d == nil || d.declaration() == nil {
			s.Invalid(fmt.Errorf("%w: a declaration is nil", tracepoint.ErrInvalid))
			continue
		}
		d := d.declaration()
		if err := s.registerDeclaration(d, naming); err != nil {
			s.Invalid(fmt.Errorf("declaration of %q: %w", d.Selector, err))
		}
	}
}

// registerDeclaration returns an error about the declaration. Those of registering are the set's.
func (s *sink) registerDeclaration(d *declaration, naming uevents.Naming) error {
	if err := d.Check(); err != nil {
		return err
	}
	if d.Selector == "" {
		return fmt.Errorf("%w: a declaration needs an event name", tracepoint.ErrInvalid)
	}
	if _, taken := s.records[d.Selector]; taken {
		return fmt.Errorf("%w: the event name is declared twice", tracepoint.ErrInvalid)
	}
	event := &recordEvent{name: d.Name, in: rangesOf(d.severities)}
	if s.CommonSchema4 {
		if err := commonschema.CheckLimit(s.Limit, header(rangeInfo, event.name), leastPartB); err != nil {
			return err
		}
		s.records[d.Selector] = event
		return nil
	}
	in := &event.in
	in[rangeError] = in[rangeError] || in[rangeFatal] // which share an event
	in[rangeFatal] = in[rangeError]
	common, fields, err := d.Layout(s.Set, namePrefix+d.Name, recordHead, recordTail)
	if err != nil {
		return err
	}
	event.schema, event.fields = newSchema(common), fields
	var groups []*uevents.Group
	for i, ok := range in {
		if ok && i != rangeFatal {
			groups = append(groups, s.severities[i].group)
		}
	}
	event.Event, _ = s.Register(s.Name(namePrefix+d.Name), event.Schema, naming, groups...) // with an error, it is never enabled
	s.records[d.Selector] = event
	return nil
}
