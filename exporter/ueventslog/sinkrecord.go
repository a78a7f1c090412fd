package ueventslog

import (
	"fmt"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/internal/declared"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// registerRecord registers the event of a declared record. On an error the records go to their
// severity's event.
func (s *sink) registerRecord(name string, r *Record, naming uevents.Naming) error {
	if r.EventName == "" {
		return fmt.Errorf("%w: a declared record needs an event name", tracepoint.ErrInvalid)
	}
	if _, taken := s.records[r.EventName]; taken {
		return fmt.Errorf("%w: the event name is declared twice", tracepoint.ErrInvalid)
	}
	own := declared.EventName(r.Name, r.EventName)
	in := rangesOf(r.Severities)
	if s.encoding == CommonSchema4 {
		outlets := new([ranges]*outlet)
		for i, level := range s.outlets {
			if in[i] {
				outlets[i] = &outlet{
					event: level.event, point: level.point, schema: level.schema,
					header: eventheader.Header{Name: own, Level: rangeLevels[i]},
				}
			}
		}
		s.records[r.EventName] = outlets
		return nil
	}
	in[rangeError] = in[rangeError] || in[rangeFatal] // which share an event
	in[rangeFatal] = false
	return s.registerTyped(name+"_"+own, r, in, naming)
}

// registerTyped registers the event of a declared record for ranges of severities.
func (s *sink) registerTyped(full string, r *Record, in [ranges]bool, naming uevents.Naming) error {
	sch, err := newSchema(full, r.fields())
	if err != nil {
		return err
	}
	if s.limit < sch.least() {
		return fmt.Errorf("%w: a limit of %d bytes is too small: it takes %d", tracepoint.ErrInvalid, s.limit, sch.least())
	}
	for _, p := range s.points {
		if p.event.Name() == full {
			return fmt.Errorf("%w: there is another event called %s", tracepoint.ErrInvalid, full)
		}
	}
	groups := []*uevents.Group{s.all}
	for i := range in {
		if in[i] {
			groups = append(groups, s.groups[i])
		}
	}
	ev, err := s.provider.Register(sch.layout.Declaration(), &uevents.EventOptions{Groups: groups, Naming: naming})
	if err != nil {
		return err
	}
	p, outlets := &point{event: ev}, new([ranges]*outlet)
	out := &outlet{event: ev, point: p, schema: sch}
	for i := range in {
		if in[i] {
			outlets[i] = out
		}
	}
	outlets[rangeFatal] = outlets[rangeError]
	s.records[r.EventName] = outlets
	s.points = append(s.points, p)
	return nil
}
