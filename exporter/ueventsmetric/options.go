package ueventsmetric

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

// WithProvider lets a provider of the program's own register the events. It is borrowed:
// Shutdown leaves it open. The default is to open one with [uevents.Open] and to close it at
// Shutdown; nil means the default.
func WithProvider(p *uevents.Provider) Option {
	return optionFunc(func(c config) config {
		c.provider = p
		return c
	})
}

// WithMaxPayload limits the size of an event, in bytes; what is above is cut. 0, the default,
// means [uevents.MaxPayload], what every tracer keeps. The limit of a provider given by
// [WithProvider] counts if it is less.
func WithMaxPayload(bytes int) Option {
	return optionFunc(func(c config) config {
		c.maxPayload = bytes
		return c
	})
}

// WithTemporalitySelector chooses the temporality by the kind of instrument. The default is
// [sdkmetric.DeltaTemporalitySelector]: counters and histograms report what was added since the
// last export, so that whoever attaches for a minute sees that minute, and a histogram trigger
// that sums the values in the kernel gets it right. UpDownCounters report their current total.
// nil means the default.
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
