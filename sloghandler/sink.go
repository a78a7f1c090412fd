package sloghandler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// sink is what a handler and all that were derived from it have in common. It does not change after New.
type sink struct {
	// What Enabled asks: is any event enabled, and then, is one of the range of levels?
	all     *uevents.Group
	groups  [ranges]*uevents.Group // an event is in those of all levels that its records may have
	least   *slog.LevelVar
	leveler slog.Leveler // asked by Handle; nil if least says it

	outlets [ranges]*outlet
	records map[string]*[ranges]*outlet // declared records by message; nil at other levels
	keys    []string                    // of all declared attributes
	points  []*point

	replace      func([]string, slog.Attr) slog.Attr
	traceContext func(context.Context) ([16]byte, [8]byte)
	fromContext  []func(context.Context) []slog.Attr
	duplicates   attrjson.Duplicates
	encoding     Encoding
	direct       bool     // records are encoded as they come, without a walk before
	limit        int      // of payloads
	callers      *callers // nil without AddSource

	provider *uevents.Provider // borrowed or not
	owned    bool
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

// New registers the events of a handler called name, which must be a valid beginning of an
// event's name: letters, digits and underscores.
//
// The handler returned is never nil. With an error it works and is never enabled, in whole
// or for some events; the error says what is missing and what to do about it, see package
// uevents. Records of a declared record that could not be registered go to their level's
// event.
func New(name string, o *Options) (*Handler, error) {
	if o == nil {
		o = &Options{}
	}
	s := &sink{
		replace:      o.ReplaceAttr,
		traceContext: o.TraceContext,
		fromContext:  slices.Clone(o.AttrFromContext),
		duplicates:   o.Duplicates,
		encoding:     o.Encoding,
		direct:       o.Encoding == Typed && o.ReplaceAttr == nil && len(o.AttrFromContext) == 0,

		provider: o.Provider,
	}
	s.least, s.leveler = minimum(o.Level)
	if o.AddSource {
		s.callers = new(callers)
	}
	if s.provider == nil {
		s.provider, _ = uevents.Open(&uevents.Options{MaxPayload: o.MaxPayload}) // the error stays with the provider
		s.owned = true
	}
	err := s.provider.Err() // which the errors of its events repeat
	if problem := s.register(name, o); err == nil {
		err = problem
	}
	if err != nil {
		err = fmt.Errorf("sloghandler %q: %w", name, err)
	}
	return &Handler{sink: s}, err
}

// register registers all events. It goes on after an error.
func (s *sink) register(name string, o *Options) error {
	var errs []error
	s.all = s.provider.NewGroup()
	for r := range ranges {
		s.groups[r] = s.provider.NewGroup()
		out, err := s.registerLevel(name, r)
		errs = append(errs, err)
		s.limit = limit(out.event, o)
		if err == nil && s.limit < out.least() {
			_ = out.event.Close()
			errs = append(errs, fmt.Errorf("%s: a limit of %d bytes is too small: it takes %d", out.event.Name(), s.limit, out.least()))
		}
		s.outlets[r] = out
		s.points = append(s.points, out.point)
	}
	if len(o.Records) > 0 {
		s.records = make(map[string]*[ranges]*outlet, len(o.Records))
	}
	for i := range o.Records {
		if err := s.registerRecord(name, &o.Records[i], cmp.Or(o.Naming, uevents.NameHashedOnConflict)); err != nil {
			errs = append(errs, fmt.Errorf("record %q: %w", o.Records[i].Message, err))
		}
	}
	return errors.Join(errs...)
}

// limit returns the largest payload to write.
func limit(ev *uevents.Event, o *Options) int {
	limit := min(ev.MaxPayload(), typed.MaxLimit)
	if o.MaxPayload > 0 {
		limit = min(limit, o.MaxPayload)
	}
	return limit
}

// registerLevel registers the event of a range of levels.
func (s *sink) registerLevel(name string, r int) (*outlet, error) {
	out := &outlet{schema: levelSchema, header: eventheader.Header{Name: logName, Level: rangeLevels[r]}}
	d := declaration(name+"_"+rangeNames[r], nil)
	if s.encoding == EventHeader {
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

// levelSchema is that of all levels.
var levelSchema = func() *schema {
	s, err := newSchema("any", nil)
	if err != nil {
		panic(err) // the declaration is a constant, and a test makes it
	}
	return s
}()

// outlet returns where a record goes.
func (s *sink) outlet(level slog.Level, message string) *outlet {
	r := rangeOf(level)
	if s.records != nil {
		if record := s.records[message]; record != nil && record[r] != nil {
			return record[r]
		}
	}
	return s.outlets[r]
}

func (s *sink) close() error {
	var errs []error
	for _, p := range s.points {
		errs = append(errs, p.event.Close())
	}
	if s.owned {
		errs = append(errs, s.provider.Close())
	}
	return errors.Join(errs...)
}
