package otlp

import (
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/userevents/userevents-go/uevents"
)

// Option is an option of [New].
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	provider    *uevents.Provider
	maxPayload  int
	temporality sdkmetric.TemporalitySelector
	aggregation sdkmetric.AggregationSelector
}

func newConfig(opts []Option) config {
	c := config{
		temporality: sdkmetric.DeltaTemporalitySelector,
		aggregation: sdkmetric.DefaultAggregationSelector,
	}
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	return c
}

// WithProvider lets a provider of the program's own register the event. It is borrowed:
// Shutdown leaves it open. The default is to open one with [uevents.Open] and to close it at
// Shutdown; nil means the default.
func WithProvider(p *uevents.Provider) Option {
	return optionFunc(func(c config) config {
		c.provider = p
		return c
	})
}

// WithMaxPayload limits the size of an event, in bytes. 0, the default, means
// [uevents.MaxPayload], what every tracer keeps. The limit of a provider given by
// [WithProvider] counts if it is less. Where only perf listens, [uevents.MaxPayloadPerf] halves
// the number of events.
func WithMaxPayload(bytes int) Option {
	return optionFunc(func(c config) config {
		c.maxPayload = bytes
		return c
	})
}

// WithTemporalitySelector chooses the temporality by the kind of instrument. The default is
// [sdkmetric.DeltaTemporalitySelector], as in the exporters for other languages that write this
// event. nil means the default.
func WithTemporalitySelector(s sdkmetric.TemporalitySelector) Option {
	return optionFunc(func(c config) config {
		if s != nil {
			c.temporality = s
		}
		return c
	})
}

// WithAggregationSelector chooses the aggregation by the kind of instrument. The default is
// [sdkmetric.DefaultAggregationSelector]; nil means the default.
func WithAggregationSelector(s sdkmetric.AggregationSelector) Option {
	return optionFunc(func(c config) config {
		if s != nil {
			c.aggregation = s
		}
		return c
	})
}
