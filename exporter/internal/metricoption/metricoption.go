// Package metricoption has the options that the exporters of metrics share.
package metricoption

import (
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/userevents/userevents-go/exporter/internal/component"
)

// Config is the configuration of an exporter.
type Config struct {
	component.Config
	Temporality sdkmetric.TemporalitySelector
	Aggregation sdkmetric.AggregationSelector
}

// Option changes a configuration.
type Option func(*Config)

// Apply returns the configuration that options make.
func Apply(opts []Option) Config {
	c := component.Apply(Config{}, opts)
	if c.Temporality == nil {
		c.Temporality = sdkmetric.DeltaTemporalitySelector
	}
	if c.Aggregation == nil {
		c.Aggregation = sdkmetric.DefaultAggregationSelector
	}
	return c
}
