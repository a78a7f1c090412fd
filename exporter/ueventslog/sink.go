package ueventslog

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/exporter/ueventslog/internal/logattrs"
	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/internal/eventheader"
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
	group *uevents.Group // has the event, and those of all declared records that have such severities
}

// newSink registers all events. The sink is never nil and always usable.
func newSink(name string, kind selfobs.Component, c *config) (*sink, error) {
	s := &sink{Component: component.Open("ueventslog", name, c.Config), records: map[string]*recordEvent{}}
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

type events struct{ sink *sink }

// Shutdown unregisters the events. Afterwards they are never enabled, and the other methods do nothing; Export returns
// [sdklog.ErrExporterShutdown]. Shutdown does not wait, ignores ctx, and may be called more than once.
func (e *events) Shutdown(context.Context) error { return e.sink.Close() }

// ForceFlush does nothing: every record has been written when Emit, OnEmit or Export returns.
func (e *events) ForceFlush(context.Context) error { return nil }

func (e *events) Stats() map[string]uevents.EventStats { return e.sink.Stats() }

// enabled reports whether an event of records is enabled of which so much is known. What is zero is not known. Any event of the
// sink is enabled.
func (s *sink) enabled(severity log.Severity, eventName string) bool {
	switch {
	case severity != log.SeverityUndefined && eventName != "":
		o := s.outlets(severity, eventName)
		return o.any()
	case severity != log.SeverityUndefined:
		return s.severities[rangeOf(severity)].group.Enabled()
	case eventName == "":
		return true
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
	o := outlets{in: rangeOf(severity)}
	if eventName != "" {
		if d := s.records[eventName]; d != nil && d.in[o.in] {
			o.declaration, o.declared = d, d.enabled()
		}
	}
	o.severity = s.severities[o.in].Enabled()
	return o
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
	return s.write(&o, &d, logattrs.OfSDK(r))
}

// write writes a record to its events, with one system call each: first to that of its declaration. That the events
// are disabled or closed meanwhile is no error.
func (s *sink) write(o *outlets, d *recordData, a logattrs.Attributes) error {
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

// ranges is how many ranges of severities there are. The last two share an event unless the encoding tells them apart.
const ranges = 5

const (
	rangeDebug = iota // trace and debug
	rangeInfo
	rangeWarn
	rangeError
	rangeFatal
)

// namePrefix begins the names of all typed events behind the program's: the events of package sloghandler, which have
// other fields, have names without it.
const namePrefix = "log_"

// rangeNames end the names of the typed events.
var rangeNames = [ranges]string{"debug", "info", "warn", "error", "error"}

var rangeLevels = [ranges]eventheader.Level{
	eventheader.LevelVerbose, eventheader.LevelInfo, eventheader.LevelWarning, eventheader.LevelError, eventheader.LevelCritical,
}

// rangeOf returns the number of the range that a severity is in. One without a severity counts as information: nothing says that
// it is less.
func rangeOf(s log.Severity) uint8 {
	switch {
	case s <= 0:
		return rangeInfo
	case s < log.SeverityInfo:
		return rangeDebug
	case s < log.SeverityWarn:
		return rangeInfo
	case s < log.SeverityError:
		return rangeWarn
	case s < log.SeverityFatal:
		return rangeError
	default:
		return rangeFatal
	}
}

// rangesOf returns which ranges the severities are in; no severities stand for all.
func rangesOf(severities []log.Severity) (in [ranges]bool) {
	for r := range in {
		in[r] = len(severities) == 0
	}
	for _, s := range severities {
		in[rangeOf(s)] = true
	}
	return in
}
