package ueventstrace

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/report"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// sink is where a processor or an exporter writes spans. It does not change after newSink,
// except for what its atomic fields hold.
type sink struct {
	all     *uevents.Group  // all events: what is asked first
	outlets [events]*outlet // nil for those that are not registered

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
	*schema
	counts counts
}

// newSink registers the events of those kinds. The sink is never nil and always usable.
func newSink(name string, component selfobs.Component, kinds []event, opts []Option) (*sink, error) {
	c := newConfig(opts)
	s := &sink{encoding: c.encoding, provider: c.provider, errors: report.New("ueventstrace")}
	if s.provider == nil {
		s.provider, _ = uevents.Open(&uevents.Options{MaxPayload: c.maxPayload}) // the error stays with the provider
		s.owned = true
	}
	if c.perfetto {
		kinds = append(slices.Clip(kinds), slice)
	}
	problem := s.register(name, kinds, &c)
	s.describer = attrs.NewDescriber(c.resource, s.limit)
	var obsErr error
	s.quit, obsErr = component.Publish(name, func() selfobs.Counts {
		n := s.stats()[s.outlets[spanEnd].event.Name()]
		return selfobs.Counts{Written: n.Written, Dropped: n.Dropped, Failed: n.Failed}
	})
	err := s.provider.Err() // which the errors of its events repeat
	if err == nil {
		err = errors.Join(problem, obsErr)
	}
	if err != nil {
		err = fmt.Errorf("ueventstrace %q: %w", name, err)
	}
	return s, err
}

// register registers all events. It goes on after an error.
func (s *sink) register(name string, kinds []event, c *config) error {
	var errs []error
	if s.encoding >= encodings {
		errs = append(errs, fmt.Errorf("unknown encoding %d: spans are written as Typed", s.encoding))
		s.encoding = Typed
	}
	if s.encoding == CommonSchema4 {
		kinds = []event{spanEnd}
	}
	s.all = s.provider.NewGroup()
	for _, kind := range kinds {
		out, err := s.registerEvent(name, kind)
		if err == nil {
			s.limit = limit(out.event, c)
			if s.limit < out.least {
				_ = out.event.Close()
				err = fmt.Errorf("%s: a limit of %d bytes is too small: it takes %d", out.event.Name(), s.limit, out.least)
			}
		}
		errs = append(errs, err)
		s.outlets[kind] = out
	}
	return errors.Join(errs...)
}

func (s *sink) registerEvent(name string, kind event) (*outlet, error) {
	// A declaration that is refused makes an event that is never enabled.
	d := tracepoint.Declaration{Name: name + eventNames[kind]}
	sch, err := newSchema(d.Name, contents[kind])
	if err == nil {
		d = sch.layout.Declaration()
	} else {
		sch = &schema{}
	}
	if s.encoding == CommonSchema4 {
		tp := eventheader.Name{Provider: name, Level: eventheader.LevelInfo, Keyword: keyword}
		if d, err = tp.Declaration(); err != nil {
			d = tracepoint.Declaration{Name: name}
		}
	}
	ev, regErr := s.provider.Register(d, &uevents.EventOptions{Groups: []*uevents.Group{s.all}})
	return &outlet{event: ev, schema: sch}, errors.Join(err, regErr)
}

// limit returns the largest payload to write.
func limit(ev *uevents.Event, c *config) int {
	limit := min(ev.MaxPayload(), typed.MaxLimit)
	if c.maxPayload > 0 {
		limit = min(limit, c.maxPayload)
	}
	return limit
}

// enabled returns the outlet of an event, or nil if nobody traces it.
func (s *sink) enabled(kind event) *outlet {
	if o := s.outlets[kind]; o != nil && o.event.Enabled() {
		return o
	}
	return nil
}

// write hands what fill appends to the kernel.
func (o *outlet) write(fill func(buf []byte) (out []byte, cut int, err error)) error {
	b := bufpool.Get()
	out, cut, err := fill(*b)
	*b = out
	var written bool
	if err != nil {
		o.counts.failed.Add(1)
	} else if written, err = o.event.WriteRecord(out); written && cut > 0 {
		o.counts.cut.Add(1)
	}
	bufpool.Put(b)
	return report.Quiet(err)
}

// handle gives an error to OpenTelemetry's handler, one in ten seconds.
func (s *sink) handle(err error) {
	if err = s.errors.Report(err); err != nil {
		otel.Handle(err)
	}
}

// close unregisters the events. It never waits, so that no deadline can pass.
func (s *sink) close() error {
	if s.closed.Swap(true) {
		return nil
	}
	errs := []error{s.quit()}
	for _, o := range s.outlets {
		if o != nil {
			errs = append(errs, o.event.Close())
		}
	}
	if s.owned {
		errs = append(errs, s.provider.Close())
	}
	return errors.Join(errs...)
}
