package main

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/userevents/userevents-go/sloghandler"
)

// publishStats publishes the Stats of a handler as metrics, for each event. Those of the exporters are metrics of the SDK's
// conventions, otel.sdk.*, if the environment has OTEL_GO_X_OBSERVABILITY=true.
func publishStats(meter metric.Meter, events *sloghandler.Handler) error {
	records, recordsErr := meter.Int64ObservableCounter("userevents.slog.records", metric.WithUnit("{record}"),
		metric.WithDescription("Log records written to an event, dropped because the last tool detached, or refused by the kernel."))
	truncated, truncatedErr := meter.Int64ObservableCounter("userevents.slog.truncated", metric.WithUnit("{record}"),
		metric.WithDescription("Log records written to an event whose texts or attributes were cut to fit."))
	if err := errors.Join(recordsErr, truncatedErr); err != nil {
		return err
	}
	_, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for name, n := range events.Stats() {
			event := attribute.String("event", name)
			o.ObserveInt64(records, int64(n.Written), metric.WithAttributes(event, attribute.String("outcome", "written")))
			o.ObserveInt64(records, int64(n.Disabled), metric.WithAttributes(event, attribute.String("outcome", "disabled")))
			o.ObserveInt64(records, int64(n.Refused), metric.WithAttributes(event, attribute.String("outcome", "refused")))
			o.ObserveInt64(truncated, int64(n.Truncated), metric.WithAttributes(event))
		}
		return nil
	}, records, truncated)
	return err
}
