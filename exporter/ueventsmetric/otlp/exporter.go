package otlp

import (
	"context"
	"fmt"
	"sync"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/metricoption"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/uevents"
)

// Exporter is an [sdkmetric.Exporter] that writes data points as OTLP, many in one user event. [NewExporter] makes exporters.
// Methods may be called concurrently, Export too.
type Exporter struct {
	common component.Component
	event  *eventset.Event

	mu     sync.Mutex
	counts uevents.EventStats // of points
	config metricoption.Config
}

var _ sdkmetric.Exporter = (*Exporter)(nil)

// NewExporter registers the event. Where only perf is used, a limit of 8184 bytes (see [ueventsmetric.WithMaxPayload]) halves the
// number of records.
//
// The exporter returned is never nil. On an error the event is never enabled, and everything else works. An option whose value is
// not valid is an error that wraps fs.ErrInvalid, on every machine; other errors say why the kernel does not take the event and
// what to do about it, see package uevents. uevents.ErrConflict means that a program has registered the event with other fields, as
// OpenTelemetry's exporter for C++ does.
func NewExporter(opts ...ueventsmetric.Option) (*Exporter, error) {
	c := metricoption.Apply(opts)
	e := &Exporter{common: component.Open("ueventsmetric/otlp", EventName, c.Config), config: c}
	const least = 512 // A point without attributes is much smaller, with its metric and scope.
	var problem error
	if e.common.Limit < least {
		problem = fmt.Errorf("a limit of %d bytes is too small: the event takes at least %d", e.common.Limit, least)
	}
	e.event, _ = e.common.RegisterDeclaration(declaration, problem)
	return e, e.common.Publish(selfobs.MetricExporter, func() uevents.EventStats { return e.Stats()[EventName] })
}

// Temporality returns the temporality for a kind of instrument; see [ueventsmetric.WithTemporalitySelector].
func (e *Exporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return e.config.Temporality(k)
}

// Aggregation returns the aggregation for a kind of instrument; see [ueventsmetric.WithAggregationSelector].
func (e *Exporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return e.config.Aggregation(k)
}

// Export writes the data points if the event is enabled, with one system call for each record. While it is disabled, Export returns
// after one check. It keeps no reference to rm and does not change it.
//
// If ctx is done, the rest is not written, and the error wraps that of ctx; a ctx that is nil is never done. Export asks ctx before
// each record. After Shutdown, it returns [sdkmetric.ErrExporterShutdown]. Points that cannot be written do not keep the others
// from being written. Export returns at most one such error in ten seconds; [Exporter.Stats] counts all.
func (e *Exporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	if e.event.Enabled() && rm != nil {
		return e.export(ctx, rm)
	}
	if e.common.Closed() {
		return sdkmetric.ErrExporterShutdown
	}
	return nil
}

// Shutdown unregisters the event. Afterwards Export returns [sdkmetric.ErrExporterShutdown], and the other methods do nothing. It
// does not wait, so it does its work even if ctx is done.
func (e *Exporter) Shutdown(context.Context) error { return e.common.Close() }

// ForceFlush does nothing: Export returns when its records are written.
func (e *Exporter) ForceFlush(context.Context) error { return nil }

// Stats returns the counts of data points, of which a record has several, by the name of the event. A metric of an unknown kind
// counts as one point that was refused.
func (e *Exporter) Stats() map[string]uevents.EventStats {
	return map[string]uevents.EventStats{EventName: e.count(uevents.EventStats{})}
}

func (e *Exporter) count(n uevents.EventStats) uevents.EventStats {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts = e.counts.Add(n)
	return e.counts
}
