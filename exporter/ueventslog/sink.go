package ueventslog

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/report"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// sink is where a processor or an exporter writes records. It does not change after newSink,
// except for what its atomic fields hold.
type sink struct {
	all    *uevents.Group         // all events: what is asked first
	groups [ranges]*uevents.Group // an event is in those of all ranges that its records may have

	outlets [ranges]*outlet
	records map[string]*[ranges]*outlet // declared records by event name; nil at other severities
	points  []*point

	encoding  Encoding
	limit     int // of payloads
	describer *attrs.Describer

	provider *uevents.Provider // borrowed or not
	owned    bool
	closed   atomic.Bool

	errors *report.Reporter
	quit   func() error // ends the publication of counts
}

// outlet is where records of one kind go.
type outlet struct {
	event *uevents.Event
	point *point
	*schema
	header eventheader.Header
}

// point is a tracepoint.
type point struct {
	event  *uevents.Event
	counts counts
}

// newSink registers all events. The sink is never nil and always usable.
func newSink(name string, component selfobs.Component, opts []Option) (*sink, error) {
	c := newConfig(opts)
	s := &sink{
		encoding: c.encoding,
		provider: c.provider,
		errors:   report.New("ueventslog"),
	}
	if s.provider == nil {
		s.provider, _ = uevents.Open(&uevents.Options{MaxPayload: c.maxPayload}) // the error stays with the provider
		s.owned = true
	}
	problem := s.register(name, &c)
	s.describer = attrs.NewDescriber(c.resource, s.limit)
	var obsErr error
	s.quit, obsErr = component.Publish(name, s.total)
	err := s.provider.Err() // which the errors of its events repeat
	if err == nil {
		err = errors.Join(problem, obsErr)
	}
	if err != nil {
		err = fmt.Errorf("ueventslog %q: %w", name, err)
	}
	return s, err
}

// register registers all events. It goes on after an error.
func (s *sink) register(name string, c *config) error {
	var errs []error
	if s.encoding >= encodings {
		errs = append(errs, fmt.Errorf("unknown encoding %d: records are written as Typed", s.encoding))
		s.encoding = Typed
	}
	s.all = s.provider.NewGroup()
	for r := range uint8(ranges) {
		if r == rangeFatal && s.encoding == Typed {
			s.groups[r], s.outlets[r] = s.groups[rangeError], s.outlets[rangeError]
			break
		}
		s.groups[r] = s.provider.NewGroup()
		out, err := s.registerRange(name, r)
		errs = append(errs, err)
		s.limit = limit(out.event, c)
		if least := out.least(); err == nil && s.limit < least {
			_ = out.event.Close()
			errs = append(errs, fmt.Errorf("%s: a limit of %d bytes is too small: it takes %d", out.event.Name(), s.limit, least))
		}
		s.outlets[r] = out
		s.points = append(s.points, out.point)
	}
	if len(c.records) > 0 {
		s.records = make(map[string]*[ranges]*outlet, len(c.records))
	}
	for i := range c.records {
		if err := s.registerRecord(name, &c.records[i], cmp.Or(c.naming, uevents.NameHashedOnConflict)); err != nil {
			errs = append(errs, fmt.Errorf("record %q: %w", c.records[i].EventName, err))
		}
	}
	return errors.Join(errs...)
}

// limit returns the largest payload to write.
func limit(ev *uevents.Event, c *config) int {
	limit := min(ev.MaxPayload(), typed.MaxLimit)
	if c.maxPayload > 0 {
		limit = min(limit, c.maxPayload)
	}
	return limit
}

// registerRange registers the event of a range of severities.
func (s *sink) registerRange(name string, r uint8) (*outlet, error) {
	out := &outlet{schema: severitySchema, header: eventheader.Header{Name: logName, Level: rangeLevels[r]}}
	d := severitySchema.layout.Declaration()
	d.Name = name + "_" + rangeNames[r]
	if s.encoding == CommonSchema4 {
		var err error
		tp := eventheader.Name{Provider: name, Level: rangeLevels[r], Keyword: keyword}
		if d, err = tp.Declaration(); err != nil {
			d = tracepoint.Declaration{Name: name} // is refused, and makes an event that is never enabled
		}
	}
	ev, err := s.provider.Register(d, &uevents.EventOptions{Groups: []*uevents.Group{s.all, s.groups[r]}})
	out.event, out.point = ev, &point{event: ev}
	return out, err
}

// severitySchema is that of the events of all severities.
var severitySchema = func() *schema {
	s, err := newSchema("any", nil)
	if err != nil {
		panic(err) // the declaration is a constant, and a test makes it
	}
	return s
}()

// outlet returns where a record goes.
func (s *sink) outlet(severity log.Severity, eventName string) *outlet {
	r := rangeOf(severity)
	if s.records != nil && eventName != "" {
		if record := s.records[eventName]; record != nil && record[r] != nil {
			return record[r]
		}
	}
	return s.outlets[r]
}

// enabled reports whether anybody traces records of which so much is known. What is zero is
// not known.
func (s *sink) enabled(severity log.Severity, eventName string) bool {
	return s.all.MaybeEnabled() && s.enabledFor(severity, eventName)
}

func (s *sink) enabledFor(severity log.Severity, eventName string) bool {
	if severity == log.SeverityUndefined {
		return s.anyEnabled(eventName)
	}
	return s.groups[rangeOf(severity)].Enabled() &&
		(s.records == nil || eventName == "" || s.outlet(severity, eventName).event.Enabled())
}

// anyEnabled answers for all severities.
func (s *sink) anyEnabled(eventName string) bool {
	if s.records == nil || eventName == "" {
		return s.all.Enabled()
	}
	for _, severity := range rangeLeast {
		if s.outlet(severity, eventName).event.Enabled() {
			return true
		}
	}
	return false
}

// rangeLeast is a severity of each range.
var rangeLeast = [ranges]log.Severity{
	log.SeverityTrace, log.SeverityInfo, log.SeverityWarn, log.SeverityError, log.SeverityFatal,
}

// close unregisters the events. Records that are being written reach nothing afterwards. It
// never waits, so that no deadline can pass.
func (s *sink) close() error {
	if s.closed.Swap(true) {
		return nil
	}
	errs := []error{s.quit()}
	for _, p := range s.points {
		errs = append(errs, p.event.Close())
	}
	if s.owned {
		errs = append(errs, s.provider.Close())
	}
	return errors.Join(errs...)
}
