package ueventsmetric

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/internal/report"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/uevents"
)

// Exporter is an [sdkmetric.Exporter] that writes each data point as a user event. Exporters
// come from [New]. Methods may be called concurrently, Export too.
type Exporter struct {
	group   *uevents.Group // all events: what Export asks first
	outlets [kinds]outlet

	temporality sdkmetric.TemporalitySelector
	aggregation sdkmetric.AggregationSelector

	provider *uevents.Provider // borrowed or not
	owned    bool
	closed   atomic.Bool

	errors *report.Reporter
	quit   func() error // ends the publication of counts
}

var _ sdkmetric.Exporter = (*Exporter)(nil)

// outlet is where points of one kind go.
type outlet struct {
	event *uevents.Event
	*schema
	limit int // of payloads
	cut   atomic.Uint64
}

// New registers the events of an exporter called name, which must be a valid beginning of an
// event's name: letters, digits and underscores, 52 at most.
//
// The exporter returned is never nil. With an error it works and writes nothing, or not all
// kinds of points; the error says what is missing and what to do about it, see package uevents.
func New(name string, opts ...Option) (*Exporter, error) {
	c := newConfig(opts)
	e := &Exporter{
		temporality: c.temporality,
		aggregation: c.aggregation,
		provider:    c.provider,
		errors:      report.New("ueventsmetric"),
	}
	if e.provider == nil {
		e.provider, _ = uevents.Open(&uevents.Options{MaxPayload: c.maxPayload}) // the error stays with the provider
		e.owned = true
	}
	problem := e.register(name, c.maxPayload)
	var obsErr error
	e.quit, obsErr = selfobs.MetricExporter.Publish(name, e.total)
	err := e.provider.Err() // which the errors of its events repeat
	if err == nil {
		err = errors.Join(problem, obsErr)
	}
	if err != nil {
		err = fmt.Errorf("ueventsmetric %q: %w", name, err)
	}
	return e, err
}

// register registers all events. It goes on after an error.
func (e *Exporter) register(name string, maxPayload int) error {
	var errs []error
	e.group = e.provider.NewGroup()
	for k := range e.outlets {
		o := &e.outlets[k]
		o.schema = schemas[k]
		var err error
		o.event, err = e.provider.Register(o.declaration(name+suffixes[k]), &uevents.EventOptions{Groups: []*uevents.Group{e.group}})
		errs = append(errs, err)
		o.limit = min(o.event.MaxPayload(), typed.MaxLimit)
		if maxPayload > 0 {
			o.limit = min(o.limit, maxPayload)
		}
		if err == nil && o.limit < o.least() {
			_ = o.event.Close() // an event without records has nothing to lose
			errs = append(errs, fmt.Errorf("%s: a limit of %d bytes is too small: it takes %d", o.event.Name(), o.limit, o.least()))
		}
	}
	return errors.Join(errs...)
}

// Temporality returns the temporality for a kind of instrument; see [WithTemporalitySelector].
func (e *Exporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return e.temporality(k)
}

// Aggregation returns the aggregation for a kind of instrument; see [WithAggregationSelector].
func (e *Exporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return e.aggregation(k)
}

// Export writes those of the data points that anybody traces, with one system call each. While
// nobody traces any, it does nothing. It keeps nothing of rm and changes nothing in it.
//
// If ctx is done, the rest is not written, and the error wraps that of ctx. After Shutdown it
// returns [sdkmetric.ErrExporterShutdown]. A point that the kernel refuses does not keep the others
// from being written. Of such errors at most one in ten seconds is returned; [Exporter.Stats]
// counts all.
func (e *Exporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	if e.group.Enabled() && rm != nil {
		return e.export(ctx, rm)
	}
	if e.closed.Load() {
		return sdkmetric.ErrExporterShutdown
	}
	return nil
}

// Shutdown unregisters the events. Afterwards Export returns [sdkmetric.ErrExporterShutdown],
// and the other methods do nothing. It does not wait for anything, so it does its work even if
// ctx is done.
func (e *Exporter) Shutdown(context.Context) error {
	if e.closed.Swap(true) {
		return nil
	}
	errs := []error{e.quit()}
	for k := range e.outlets {
		errs = append(errs, e.outlets[k].event.Close())
	}
	if e.owned {
		errs = append(errs, e.provider.Close())
	}
	return errors.Join(errs...)
}

// ForceFlush does nothing: the exporter holds no points.
func (e *Exporter) ForceFlush(context.Context) error { return nil }
