// Package sink is an exporter for tests of a whole Collector: it counts what arrives, discards it, and can stall.
package sink

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
)

// NewFactory returns the factory of the exporter, whose type is sink. Its pipelines write one report.
func NewFactory() exporter.Factory {
	f := &factory{counters: map[string]*counter{}}
	return exporter.NewFactory(component.MustNewType("sink"), defaultConfig,
		exporter.WithLogs(f.logs, component.StabilityLevelDevelopment),
		exporter.WithTraces(f.traces, component.StabilityLevelDevelopment),
		exporter.WithMetrics(f.metrics, component.StabilityLevelDevelopment))
}

func defaultConfig() component.Config {
	return &Config{Queue: configoptional.Default(exporterhelper.NewDefaultQueueConfig())}
}

// factory has the counters, by their reports. The Collector creates the exporters of all pipelines one after the other.
type factory struct{ counters map[string]*counter }

func (f *factory) counter(c component.Config) *counter {
	config := c.(*Config)
	if f.counters[config.Report] == nil {
		f.counters[config.Report] = newCounter(config)
	}
	return f.counters[config.Report]
}

func (c *counter) options() []exporterhelper.Option {
	return []exporterhelper.Option{
		exporterhelper.WithQueue(c.config.Queue),
		exporterhelper.WithTimeout(exporterhelper.TimeoutConfig{}), // it waits as long as it is stalled
		exporterhelper.WithShutdown(func(context.Context) error { return c.write() }),
	}
}

func (f *factory) logs(ctx context.Context, set exporter.Settings, config component.Config) (exporter.Logs, error) {
	c := f.counter(config)
	return exporterhelper.NewLogs(ctx, set, config, c.consumeLogs, c.options()...)
}

func (f *factory) traces(ctx context.Context, set exporter.Settings, config component.Config) (exporter.Traces, error) {
	c := f.counter(config)
	return exporterhelper.NewTraces(ctx, set, config, c.consumeTraces, c.options()...)
}

func (f *factory) metrics(ctx context.Context, set exporter.Settings, config component.Config) (exporter.Metrics, error) {
	c := f.counter(config)
	return exporterhelper.NewMetrics(ctx, set, config, c.consumeMetrics, c.options()...)
}

// Config is the configuration of the exporter.
type Config struct {
	// Report is the file that receives a Report as JSON, at most ten times a second and at the end.
	Report string `mapstructure:"report"`
	// Stall is the path of a file: while it exists, the exporter waits.
	Stall string `mapstructure:"stall"`
	// Detailed also counts log records and spans by tracepoint, container and program.
	Detailed bool `mapstructure:"detailed"`
	// Delays also counts log records by the time since their timestamp.
	Delays bool `mapstructure:"delays"`
	// Queue is the queue in front of the exporter; none if it is not set.
	Queue configoptional.Optional[exporterhelper.QueueBatchConfig] `mapstructure:"sending_queue"`
}
