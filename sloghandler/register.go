package sloghandler

import (
	"fmt"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// registerRecord registers the event of a declared record. On an error the records go to their level's event.
func (s *sink) registerRecord(name string, r *Record, naming uevents.Naming) error {
	if _, taken := s.records[r.Message]; taken {
		return fmt.Errorf("%w: the message is declared twice", tracepoint.ErrInvalid)
	}
	full := name + "_" + r.name()
	sch, err := newSchema(full, r.declared())
	if err != nil {
		return err
	}
	if s.limit < sch.least() {
		return fmt.Errorf("%w: a limit of %d bytes is too small: it takes %d", tracepoint.ErrInvalid, s.limit, sch.least())
	}
	for i := range r.Fields {
		s.keys = append(s.keys, r.Fields[i].Key)
	}
	outlets := new([ranges]*outlet)
	if s.encoding == EventHeader {
		s.records[r.Message] = outlets
		for i, in := range rangesOf(r.Levels) {
			if in {
				level := s.outlets[i]
				outlets[i] = &outlet{
					event: level.event, point: level.point, schema: sch,
					header: eventheader.Header{Name: r.name(), Level: rangeLevels[i]},
				}
			}
		}
		return nil
	}
	for _, p := range s.points {
		if p.event.Name() == full {
			return fmt.Errorf("%w: the handler has another event called %s", tracepoint.ErrInvalid, full)
		}
	}
	in := rangesOf(r.Levels)
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
	p := &point{event: ev}
	out := &outlet{event: ev, point: p, schema: sch}
	for i := range in {
		if in[i] {
			outlets[i] = out
		}
	}
	s.records[r.Message] = outlets
	s.points = append(s.points, p)
	return nil
}
