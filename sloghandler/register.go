package sloghandler

import (
	"fmt"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// registerRecord registers the event of a declared record. On an error the records go to their level's event.
func (s *sink) registerRecord(name string, r *Record, policy uevents.ConflictPolicy) error {
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
		if p.events[0].Name() == full {
			return fmt.Errorf("%w: the handler has another event called %s", tracepoint.ErrInvalid, full)
		}
	}
	p := &point{}
	for i, in := range rangesOf(r.Levels) {
		if !in {
			continue
		}
		// Every range has an enable bit of its own for the same event.
		ev, err := s.provider.Register(sch.layout.Declaration(), &uevents.EventOptions{Group: s.groups[i], OnConflict: policy})
		if err != nil {
			for _, ev := range p.events {
				_ = ev.Close()
			}
			return err
		}
		p.events = append(p.events, ev)
		outlets[i] = &outlet{event: ev, point: p, schema: sch}
	}
	s.records[r.Message] = outlets
	s.points = append(s.points, p)
	return nil
}
