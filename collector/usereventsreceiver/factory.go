package usereventsreceiver

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
)

// NewFactory returns the factory of the receiver, for the Collector's configuration and builder. The receivers of all
// signals of one configuration share a session: they are started and shut down together.
func NewFactory() receiver.Factory { return newFactory(openReader) }

// newFactory returns a factory of receivers that open their source of events with open.
func newFactory(open opener) receiver.Factory {
	s := &shared{open: open, sessions: map[*Config]*session{}}
	return receiver.NewFactory(metadata.Type, func() component.Config { return defaultConfig() },
		receiver.WithLogs(func(_ context.Context, set receiver.Settings, c component.Config, next consumer.Logs) (receiver.Logs, error) {
			return s.get(set, c.(*Config), func(o *outputs) error { return o.setLogs(set, next) })
		}, metadata.LogsStability),
		receiver.WithTraces(func(_ context.Context, set receiver.Settings, c component.Config, next consumer.Traces) (receiver.Traces, error) {
			return s.get(set, c.(*Config), func(o *outputs) error { return o.setTraces(set, next) })
		}, metadata.TracesStability),
		receiver.WithMetrics(func(_ context.Context, set receiver.Settings, c component.Config, next consumer.Metrics) (receiver.Metrics, error) {
			return s.get(set, c.(*Config), func(o *outputs) error { return o.setMetrics(set, next) })
		}, metadata.MetricsStability))
}
