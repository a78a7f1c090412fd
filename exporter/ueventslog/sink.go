package ueventslog

import (
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
func newSink(name string, kind selfobs.Component, opts []Option) (*sink, error) {
	c := component.Apply(config{}, opts)
	s := &sink{Component: component.Open("ueventslog", name, c.Config)}
	s.registerSeverities(name)
	s.registerRecords(&c)
	return s, s.Publish(kind, s.total)
}

// total returns what became of the log records. One that was written to two events counts once.
func (s *sink) total() eventset.Stats {
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
	return s.All.MaybeEnabled() && s.enabledFor(severity, eventName)
}

func (s *sink) enabledFor(severity log.Severity, eventName string) bool {
	switch {
	case severity != log.SeverityUndefined && eventName != "":
		return s.wants(severity, eventName)
	case severity != log.SeverityUndefined:
		return s.severities[rangeOf(severity)].group.Enabled()
	case eventName == "":
		return s.All.Enabled()
	}
	return s.anySeverity.Enabled() || s.records[eventName].enabled()
}

// wants reports whether an event of a record is enabled.
func (s *sink) wants(severity log.Severity, eventName string) bool {
	r := rangeOf(severity)
	return s.severities[r].Enabled() || s.record(r, eventName).enabled()
}

// write writes a record to those of its events that are enabled, with one system call each: the event that declares
// it, and that of its severity. That none is enabled, or that the sink was closed, is no error.
func (s *sink) write(r *sdklog.Record) error {
	if !s.All.MaybeEnabled() {
		return nil
	}
	in := rangeOf(r.Severity())
	record, severity := s.record(in, r.EventName()), &s.severities[in]
	duplicate := false
	var recordErr, severityErr error
	if record.enabled() {
		duplicate, recordErr = s.writeRecord(record, r)
	}
	switch {
	case !severity.Enabled():
	case s.Encoding == component.CommonSchema4:
		severityErr = s.writeCommonSchema(severity.Event, in, record, r)
	default:
		var written bool
		if written, severityErr = s.writeSeverity(severity.Event, r, duplicate); written && duplicate {
			s.bothWritten.Add(1)
		}
	}
	return errors.Join(recordErr, severityErr)
}
