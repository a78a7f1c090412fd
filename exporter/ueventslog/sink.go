package ueventslog

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/internal/eventset"
	"github.com/userevents/userevents-go/uevents"
)

// sink writes the log records of a processor or an exporter. It does not change after newSink, but for its counts.
type sink struct {
	component.Component

	severities  [ranges]severityEvent
	anySeverity *uevents.Group // the events of all severities
	records     map[string]*recordEvent
	bothWritten atomic.Uint64 // records that were written to two events
}

// severityEvent is the event of a range of severities.
type severityEvent struct {
	*eventset.Event

	// group has the event, and those of all declared records that have such severities.
	group *uevents.Group
}

// newSink registers all events. The sink is never nil and always usable.
func newSink(name string, kind selfobs.Component, c *config) (*sink, error) {
	s := &sink{Component: component.Open("ueventslog", name, c.Config)}
	s.registerSeverities(name)
	s.registerDeclarations(c)
	return s, s.Publish(kind, s.total)
}

// total returns what became of the log records. One that was written to two events counts once.
func (s *sink) total() uevents.EventStats {
	n := s.Total()
	n.Written -= min(n.Written, s.bothWritten.Load())
	return n
}

// record returns the event of a declared record, or nil.
func (s *sink) record(r uint8, eventName string) *recordEvent {
	if s.records == nil || eventName == "" {
		return nil
	}
	if record := s.records[eventName]; record != nil && record.in[r] {
		return record
	}
	return nil
}

// enabled reports whether an event of records is enabled of which so much is known. What is zero is not known.
func (s *sink) enabled(severity log.Severity, eventName string) bool {
	return s.All.Enabled() && s.enabledFor(severity, eventName)
}

func (s *sink) enabledFor(severity log.Severity, eventName string) bool {
	switch {
	case severity != log.SeverityUndefined && eventName != "":
		o := s.outlets(severity, eventName)
		return o.any()
	case severity != log.SeverityUndefined:
		return s.severities[rangeOf(severity)].group.Enabled()
	case eventName == "":
		return s.All.Enabled()
	}
	return s.anySeverity.Enabled() || s.records[eventName].enabled()
}

// outlets are the events of a record that are enabled.
type outlets struct {
	in          uint8        // the range of its severity
	declaration *recordEvent // nil if the record is not declared for this severity
	declared    bool         // the event of the declaration is enabled
	severity    bool         // that of the severity is
}

func (o *outlets) any() bool { return o.declared || o.severity }

// outlets returns the events of a record that are enabled.
func (s *sink) outlets(severity log.Severity, eventName string) outlets {
	r := rangeOf(severity)
	record := s.record(r, eventName)
	return outlets{in: r, declaration: record, declared: record.enabled(), severity: s.severities[r].Enabled()}
}

// writeSDK writes a record of the SDK that was emitted with ctx. One that is nil is ignored.
func (s *sink) writeSDK(ctx context.Context, r *sdklog.Record) error {
	if !s.All.Enabled() || r == nil {
		return nil
	}
	o := s.outlets(r.Severity(), r.EventName())
	if !o.any() {
		return nil
	}
	var d recordData
	d.fill(r)
	d.setEventSpan(ctx)
	d.resource = s.Resources.Describe(r.Resource())
	return s.write(&o, &d, attributes{sdk: r})
}

// write writes a record to its events, with one system call each: first to that of its declaration. That the events
// are disabled or closed meanwhile is no error.
func (s *sink) write(o *outlets, d *recordData, a attributes) error {
	severity := s.severities[o.in].Event
	if s.CommonSchema4 {
		return s.writeCommonSchema(severity, o.in, o.declaration, d, a)
	}
	if o.declaration != nil {
		o.declaration.Matched.Set()
	}
	if !o.declared {
		_, err := s.writeSeverity(severity, d, a, false)
		return err
	}
	duplicate, err := s.writeRecord(o.declaration, d, a)
	if !o.severity {
		return err
	}
	written, severityErr := s.writeSeverity(severity, d, a, duplicate)
	if written && duplicate {
		s.bothWritten.Add(1)
	}
	return errors.Join(err, severityErr)
}
