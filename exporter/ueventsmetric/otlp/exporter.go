package otlp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/uevents"
)

// Exporter is an [sdkmetric.Exporter] that writes data points as OTLP, many in one user event.
// Exporters come from [New]. Methods may be called concurrently, Export too.
type Exporter struct {
	event       *uevents.Event
	limit       int // of payloads
	transformer *transformer
	counts      counts

	temporality sdkmetric.TemporalitySelector
	aggregation sdkmetric.AggregationSelector

	provider *uevents.Provider // borrowed or not
	owned    bool
	closed   atomic.Bool
}

var _ sdkmetric.Exporter = (*Exporter)(nil)

// leastPayload is the smallest limit: a point without attributes, with its metric and scope, is
// much smaller than that.
const leastPayload = 512

// New registers the event.
//
// The exporter returned is never nil. With an error it works and writes nothing; the error says
// what is missing and what to do about it, see package uevents. [uevents.ErrConflict] means that
// a program has registered the event with other fields, as OpenTelemetry's exporter for C++ does.
func New(opts ...Option) (*Exporter, error) {
	c := newConfig(opts)
	e := &Exporter{
		temporality: c.temporality,
		aggregation: c.aggregation,
		provider:    c.provider,
	}
	if e.provider == nil {
		e.provider, _ = uevents.Open(&uevents.Options{MaxPayload: c.maxPayload}) // the error stays with the event
		e.owned = true
	}
	var err error
	e.event, err = e.provider.Register(layout.Declaration(), nil)
	e.limit = min(e.event.MaxPayload(), typed.MaxLimit)
	if c.maxPayload > 0 {
		e.limit = min(e.limit, c.maxPayload)
	}
	if err == nil && e.limit < leastPayload {
		err = fmt.Errorf("a limit of %d bytes is too small: it takes %d", e.limit, leastPayload)
	}
	if err == nil {
		e.transformer, err = newTransformer()
	}
	if err != nil {
		_ = e.event.Close() // an event without records has nothing to lose
		return e, fmt.Errorf("ueventsmetric/otlp: %w", err)
	}
	return e, nil
}

// Temporality returns the temporality for a kind of instrument; see [WithTemporalitySelector].
func (e *Exporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return e.temporality(k)
}

// Aggregation returns the aggregation for a kind of instrument; see [WithAggregationSelector].
func (e *Exporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return e.aggregation(k)
}

// Export writes the data points if anybody traces the event, with one system call for each
// event. While nobody does, it does nothing. It keeps nothing of rm and changes nothing in it.
//
// If ctx is done, the rest is not written, and the error wraps that of ctx. After Shutdown it
// returns [sdkmetric.ErrExporterShutdown]. Points that cannot be written do not keep the others from
// being written; the error tells how many there were.
func (e *Exporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	if e.event.Enabled() && rm != nil {
		return e.export(ctx, rm)
	}
	if e.closed.Load() {
		return sdkmetric.ErrExporterShutdown
	}
	return nil
}

// Shutdown unregisters the event. Afterwards Export returns [sdkmetric.ErrExporterShutdown], and
// the other methods do nothing. It does not wait for anything, so it does its work even if ctx is
// done.
func (e *Exporter) Shutdown(context.Context) error {
	if e.closed.Swap(true) {
		return nil
	}
	err := e.event.Close()
	if e.owned {
		err = errors.Join(err, e.provider.Close())
	}
	return err
}

// ForceFlush does nothing: the exporter holds no points.
func (e *Exporter) ForceFlush(context.Context) error { return nil }
