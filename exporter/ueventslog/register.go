package ueventslog

import (
	"fmt"
	"sync/atomic"

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
	name string       // in the Common Schema
	in   [ranges]bool // severities that belong to it

	unconverted atomic.Uint64
}

// enabled reports whether a tracing tool is attached to the event. A record may have none.
func (r *recordEvent) enabled() bool { return r != nil && r.Event != nil && r.Enabled() }

// registerRecords registers the events of declared records. Records that cannot have an event of their own are only
// in their severity's event.
func (s *sink) registerRecords(c *config) {
	naming := s.Naming(c.naming)
	if len(c.records) > 0 {
		s.records = make(map[string]*recordEvent, len(c.records))
	}
	for i := range c.records {
		r := &c.records[i]
		event, err := s.registerRecord(r, naming)
		if err != nil {
			s.Invalid(fmt.Errorf("record %q: %w", r.EventName, err))
		} else if event != nil {
			s.records[r.EventName] = event
		}
	}
}

// registerRecord returns the event of a declared record, or nil if it cannot be registered; the set has the error.
// The error is one about the declaration.
func (s *sink) registerRecord(r *Record, naming uevents.Naming) (*recordEvent, error) {
	if r.EventName == "" {
		return nil, fmt.Errorf("%w: a declared record needs an event name", tracepoint.ErrInvalid)
	}
	if _, taken := s.records[r.EventName]; taken {
		return nil, fmt.Errorf("%w: the event name is declared twice", tracepoint.ErrInvalid)
	}
	for i, f := range r.Fields {
		if f.Key == "" {
			return nil, fmt.Errorf("%w: field %d has no key: give it that of the attribute", tracepoint.ErrInvalid, i+1)
		}
	}
	event := &recordEvent{name: declared.EventName(r.Name, r.EventName), in: rangesOf(r.Severities)}
	if s.CommonSchema4 {
		return event, commonschema.CheckLimit(s.Limit, header(rangeInfo, event.name), leastPartB)
	}
	in := &event.in
	in[rangeError] = in[rangeError] || in[rangeFatal] // which share an event
	in[rangeFatal] = in[rangeError]
	var err error
	if event.schema, err = s.newRecordSchema(namePrefix+event.name, r.fields()); err != nil {
		return nil, err
	}
	var groups []*uevents.Group
	for i, ok := range in {
		if ok && i != rangeFatal {
			groups = append(groups, s.severities[i].group)
		}
	}
	if event.Event, err = s.Register(s.Name(namePrefix+event.name), event.Schema, naming, groups...); err != nil {
		return nil, nil
	}
	return event, nil
}
