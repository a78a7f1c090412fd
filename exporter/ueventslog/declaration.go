package ueventslog

import (
	"fmt"

	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/exporter/internal/commonschema"
	"github.com/userevents/userevents-go/internal/adapter/declared"
	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// Declaration declares the log records with one event name: the fields of the struct type T are fields of the records'
// event. It comes from [Declare], does not change, and may be used for several providers, processors and exporters.
type Declaration[T any] struct{ d declaration }

// AnyDeclaration is a [Declaration] of any type.
type AnyDeclaration interface{ declaration() *declaration }

// DeclarationOptions are the options of [Declare].
type DeclarationOptions struct {
	// Name is the event's name behind that of the provider and _log_. Empty means the event name of the records, as
	// [typed.FieldName] makes a name of it.
	Name string

	// Severities are the severities at which the program logs the record; one of each range is enough. At other
	// severities it is written as if it were not declared. Empty means all.
	//
	// Bridges ask whether a record is enabled before they know its event name. While the event is enabled, the answer is
	// yes for these severities: a tool that is attached to the event of a declaration with Severities does not slow down
	// the others.
	Severities []log.Severity
}

// Declare declares the log records with exactly this event name, for [WithDeclarations]. They are written to an event of their
// own, in which the fields of the struct type T are fields of their own type, so that the kernel filters and aggregates by them:
//
//	type HTTPRequest struct {
//		Method  string        `uevent:"http.request.method"`
//		Status  uint16        `uevent:"http.response.status_code"`
//		Latency time.Duration `uevent:"latency_ns"`
//	}
//
//	ueventslog.NewLoggerProvider("myapp", ueventslog.WithDeclarations(ueventslog.Declare[HTTPRequest]("http.request", nil)))
//
// registers, beside the events of the severities,
//
//	myapp_log_http_request ... __data_loc char[] http_request_method; u16 http_response_status_code; s64 latency_ns; ...
//
// Tags and types are those of package structevent, see [typed.Plan]; a field of type [typed.Truncated] is not possible. A field is
// for the attribute with the key in its tag, or else with its Go name; in a nested struct, the key begins with the names of the
// structs and dots. A time.Duration whose name ends in _ns also takes the attribute without that ending, as does a time.Time with
// _unix_nano. The last of several such attributes counts. No attribute is an array or an id: these fields stay empty.
//
// Values are converted if the field can hold them exactly: numbers in range, numbers and booleans from and to their text, durations
// from their text, durations and times from a number of nanoseconds, into which bridges convert them. An attribute that
// no field declares or can hold, such as a list, stays in the field attributes; [uevents.EventStats] counts the latter.
//
// Only the log API sets an event name: records of the bridge otelslog have none, and match no declaration. For log calls of slog,
// package sloghandler declares records by their message.
//
// It is an error of [NewLoggerProvider] and its siblings if T cannot be declared, or if name and fields of the event have more than
// the 511 bytes that the kernel takes. With [WithCommonSchema4], which has events inside of tracepoints, the records are in the
// tracepoint of their severity, under the name http_request, with all attributes as they are.
func Declare[T any](eventName string, o *DeclarationOptions) *Declaration[T] {
	if o == nil {
		o = &DeclarationOptions{}
	}
	d, _ := declared.New[T](eventName, o.Name, o.Severities)
	return &Declaration[T]{d}
}

func (d *Declaration[T]) declaration() *declaration {
	if d == nil {
		return nil
	}
	return &d.d
}

// declaration is what a [Declaration] says, whatever its type.
type declaration = declared.Declaration[log.Severity]

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
	declared.Register(s.Set, c.declarations, AnyDeclaration.declaration, func(d *declaration) error { return s.registerDeclaration(d, naming) })
}

// registerDeclaration returns an error about the declaration. Those of registering are the set's.
func (s *sink) registerDeclaration(d *declaration, naming uevents.Naming) error {
	if d.Selector == "" {
		return fmt.Errorf("%w: a declaration needs an event name", tracepoint.ErrInvalid)
	}
	event := &recordEvent{name: d.Name, in: rangesOf(d.Levels)}
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
