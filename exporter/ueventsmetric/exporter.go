package ueventsmetric

import (
	"context"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/metricoption"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/uevents"
)

// Option is an option of [NewExporter] and of the exporter in package otlp. A nil option is ignored.
type Option = metricoption.Option

// WithProvider registers the events with a provider that the program has opened. It is borrowed: Shutdown leaves it open. The
// default is to open one with [uevents.Open] and to close it at Shutdown; nil means the default.
func WithProvider(p *uevents.Provider) Option {
	return func(c *metricoption.Config) { c.Provider = p }
}

// WithMaxPayload limits the size of a record, in bytes; a larger one is truncated. In package otlp, points
// that do not fit go into the next record. 0, the default, means [tracepoint.MaxPayload],
// which every tracing tool keeps. The smaller of this limit and that of the provider applies. A limit that is negative, or has no
// room for ids, numbers and a few characters of each text, is an error of NewExporter; in package otlp, one of less than 512.
func WithMaxPayload(bytes int) Option {
	return func(c *metricoption.Config) { c.MaxPayload = bytes }
}

// WithTemporalitySelector chooses the temporality by the kind of instrument, and with it the event of its points: see the package
// comment. The default is [sdkmetric.DeltaTemporalitySelector]; nil means the default.
func WithTemporalitySelector(s sdkmetric.TemporalitySelector) Option {
	return func(c *metricoption.Config) { c.Temporality = s }
}

// WithAggregationSelector chooses the aggregation by the kind of instrument. The default is [sdkmetric.DefaultAggregationSelector];
// nil means the default.
func WithAggregationSelector(s sdkmetric.AggregationSelector) Option {
	return func(c *metricoption.Config) { c.Aggregation = s }
}

// Exporter is an [sdkmetric.Exporter] that writes each data point as a user event. [NewExporter] makes exporters. Methods may be
// called concurrently, Export too.
type Exporter struct {
	common component.Component
	events [kinds]*component.Event
	config metricoption.Config
}

var _ sdkmetric.Exporter = (*Exporter)(nil)

// NewExporter registers the events of an exporter called name, which must be a valid beginning of an event's name: 1 to 52 ASCII
// letters, digits and underscores, the first of which is no digit.
//
// The exporter returned is never nil. On an error some of its events, or all of them, are never enabled, and everything else works.
// An argument that is not valid is an error that wraps fs.ErrInvalid, on every machine; other errors say why the kernel does not
// take events and what to do about it, see package uevents.
func NewExporter(name string, opts ...Option) (*Exporter, error) {
	c := metricoption.Apply(opts)
	e := &Exporter{common: component.Open("ueventsmetric", name, c.Config), config: c}
	for k, event := range events {
		e.events[k] = e.common.RegisterTyped(event.suffix, event.schema)
	}
	return e, e.common.Publish(selfobs.MetricExporter, e.total)
}

// Temporality returns the temporality for a kind of instrument; see [WithTemporalitySelector].
func (e *Exporter) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return e.config.Temporality(k)
}

// Aggregation returns the aggregation for a kind of instrument; see [WithAggregationSelector].
func (e *Exporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return e.config.Aggregation(k)
}

// Export writes the data points whose events are enabled, with one system call each. While none is, it returns after one check. It
// keeps no reference to rm and does not change it.
//
// If ctx is done, the rest is not written, and the error wraps that of ctx; a ctx that is nil is never done. After Shutdown, Export
// returns [sdkmetric.ErrExporterShutdown]. A point that the kernel refuses, or an aggregation that is not known, does not keep the
// other points from being written. Export returns at most one such error in ten seconds; [Exporter.Stats] counts all points that
// the kernel refused.
func (e *Exporter) Export(ctx context.Context, rm *metricdata.ResourceMetrics) error {
	if e.common.All.Enabled() && rm != nil {
		return e.export(ctx, rm)
	}
	if e.common.Closed() {
		return sdkmetric.ErrExporterShutdown
	}
	return nil
}

// Shutdown unregisters the events. Afterwards Export returns [sdkmetric.ErrExporterShutdown], and the other methods do nothing. It
// does not wait, so it does its work even if ctx is done.
func (e *Exporter) Shutdown(context.Context) error { return e.common.Close() }

// ForceFlush does nothing: Export returns when its records are written.
func (e *Exporter) ForceFlush(context.Context) error { return nil }

// Stats returns the counts of each event, by its name.
func (e *Exporter) Stats() map[string]uevents.EventStats { return e.common.Stats() }

// total returns the counts of the points of all events. Exemplars are parts of points.
func (e *Exporter) total() (n uevents.EventStats) {
	for _, event := range e.events[:exemplar] {
		n = n.Add(event.Stats())
	}
	return n
}
