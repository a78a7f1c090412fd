package otlp

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

// WithEventProvider registers the event with a provider that the program has opened. It is borrowed: Shutdown leaves it open. The
// default is to open one with [uevents.Open] and to close it at Shutdown; nil means the default.
func WithEventProvider(p *uevents.Provider) Option {
	return option(func(c *config) { c.Provider = p })
}

// WithMaxPayload limits the size of a record, in bytes. 0, the default, means [uevents.MaxPayload], which every tracing tool keeps.
// The smaller of this limit and that of the provider applies. Less than 512 is an error of [NewExporter]. Where only perf is used,
// a limit of 8184 halves the number of records.
func WithMaxPayload(bytes int) Option {
	return option(func(c *config) { c.MaxPayload = bytes })
}

// WithTemporalitySelector chooses the temporality by the kind of instrument. The default is [sdkmetric.DeltaTemporalitySelector],
// as in the exporters for other languages that write this event. nil means the default.
func WithTemporalitySelector(s sdkmetric.TemporalitySelector) Option {
	return option(func(c *config) { c.temporality = s })
}

// WithAggregationSelector chooses the aggregation by the kind of instrument. The default is [sdkmetric.DefaultAggregationSelector];
// nil means the default.
func WithAggregationSelector(s sdkmetric.AggregationSelector) Option {
	return option(func(c *config) { c.aggregation = s })
}
