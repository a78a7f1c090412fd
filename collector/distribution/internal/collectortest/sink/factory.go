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
