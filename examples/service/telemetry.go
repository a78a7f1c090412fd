package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/sloghandler/oteltrace"
	"github.com/userevents/userevents-go/uevents"
)

// scope is the name of what the service itself logs and measures.
const scope = "github.com/userevents/userevents-go/examples/service"

// telemetry is what the service logs to. Spans and metrics go to OpenTelemetry's global providers.
type telemetry struct {
	log      *slog.Logger
	events   *sloghandler.Handler
	shutdown func(context.Context) error
}

// newTelemetry sets OpenTelemetry up as the environment says, by default with events alone, and registers the events of spans, metrics and
// log records, which have the same beginning of their names. With an error the telemetry works as far as it can.
func newTelemetry(ctx context.Context, w io.Writer, p *uevents.Provider) (*telemetry, error) {
	opts := []autoexport.Option{
		autoexport.WithDefaultExporters("user_events"),
		autoexport.WithEventName("service"),
		autoexport.WithProvider(p),
	}
	events, logErr := sloghandler.New(autoexport.EventName(opts...), &sloghandler.Options{Provider: p, TraceContext: oteltrace.Context})
	here := slog.NewMultiHandler(slog.NewJSONHandler(w, nil), events)
	logSDK(here)
	shutdown, setupErr := autoexport.Setup(ctx, opts...)
	statsErr := publishStats(otel.Meter(scope), events)
	t := &telemetry{log: slog.New(here), events: events, shutdown: shutdown}
	if os.Getenv("OTEL_LOGS_EXPORTER") != "" { // else a record would be in two events: the handler has written it
		t.log = slog.New(slog.NewMultiHandler(here, infoAndAbove{otelslog.NewHandler(scope)}))
	}
	return t, errors.Join(setupErr, logErr, statsErr)
}

// close exports what is left, within the limit, and unregisters the events. A backend that does not answer is no error of the
// service.
func (t *telemetry) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	if err := errors.Join(t.shutdown(ctx), t.events.Close()); err != nil {
		t.log.Warn("telemetry is lost", "err", err)
	}
}

// logSDK makes OpenTelemetry's SDK log to a handler: its errors, and below the level info what it does. It must not be one whose
// records the SDK exports: each export that fails would be the next record.
func logSDK(here slog.Handler) {
	otel.SetLogger(logr.FromSlogHandler(here))
	log := slog.New(here)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Error("OpenTelemetry", "err", err) }))
}

// infoAndAbove keeps debug records from a handler whose backend takes all levels. A tool gets them from the events.
type infoAndAbove struct{ slog.Handler }

func (h infoAndAbove) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo && h.Handler.Enabled(ctx, level)
}

func (h infoAndAbove) WithAttrs(attrs []slog.Attr) slog.Handler {
	return infoAndAbove{h.Handler.WithAttrs(attrs)}
}

func (h infoAndAbove) WithGroup(name string) slog.Handler {
	return infoAndAbove{h.Handler.WithGroup(name)}
}

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
