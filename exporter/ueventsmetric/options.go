package ueventsmetric

import (
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/uevents"
)

// Option is an option of [NewExporter]. A nil option is ignored.
type Option interface{ apply(*config) }

type option func(*config)

func (o option) apply(c *config) { o(c) }

type config struct {
	component.Config
	temporality sdkmetric.TemporalitySelector
	aggregation sdkmetric.AggregationSelector
}

// WithEventProvider registers the events with a provider that the program has opened. It is borrowed: Shutdown leaves it open. The
// default is to open one with [uevents.Open] and to close it at Shutdown; nil means the default.
func WithEventProvider(p *uevents.Provider) Option {
	return option(func(c *config) { c.Provider = p })
}

// WithMaxPayload limits the size of a record, in bytes; a larger one is truncated. 0, the default, means [uevents.MaxPayload],
// which every tracing tool keeps. The smaller of this limit and that of the provider applies. A limit that is negative, or has no
// room for ids, numbers and a few characters of each text, is an error of [NewExporter].
func WithMaxPayload(bytes int) Option {
	return option(func(c *config) { c.MaxPayload = bytes })
}

// WithTemporalitySelector chooses the temporality by the kind of instrument, and with it the event of its points: see the package
// comment. The default is [sdkmetric.DeltaTemporalitySelector]; nil means the default.
func WithTemporalitySelector(s sdkmetric.TemporalitySelector) Option {
	return option(func(c *config) { c.temporality = s })
}

// WithAggregationSelector chooses the aggregation by the kind of instrument. The default is [sdkmetric.DefaultAggregationSelector];
// nil means the default.
func WithAggregationSelector(s sdkmetric.AggregationSelector) Option {
	return option(func(c *config) { c.aggregation = s })
}
