package main

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/sloghandler/oteltrace"
	"github.com/userevents/userevents-go/uevents"
)

// scope is the name of what the service itself logs and measures.
const scope = "github.com/userevents/userevents-go/examples/service"

// telemetry is all that the service knows about tracing.
type telemetry struct {
	spans      trace.TracerProvider
	metrics    metric.MeterProvider
	propagator propagation.TextMapPropagator
	log        *slog.Logger
	events     *sloghandler.Handler
	shutdown   func(context.Context) error
}

// newTelemetry sets OpenTelemetry up as the environment says, and registers the events of spans, metrics and log records, which have
// the same beginning of their names. With an error the telemetry works as far as it can.
func newTelemetry(ctx context.Context, w io.Writer, p *uevents.Provider) (*telemetry, error) {
	s, envErr := settingsFromEnv()
	events, logErr := sloghandler.New(s.name, &sloghandler.Options{Provider: p, TraceContext: oteltrace.Context})
	here := slog.NewMultiHandler(slog.NewJSONHandler(w, nil), events)
	logSDK(here)
	shutdown, setupErr := autoexport.Setup(ctx,
		autoexport.WithTraceOptions(ueventstrace.WithEventProvider(p)),
		autoexport.WithLogOptions(ueventslog.WithEventProvider(p)),
		autoexport.WithMetricOptions(ueventsmetric.WithEventProvider(p)))
	statsErr := publishStats(otel.GetMeterProvider().Meter(scope), events)
	return &telemetry{
		spans:      otel.GetTracerProvider(),
		metrics:    otel.GetMeterProvider(),
		propagator: otel.GetTextMapPropagator(),
		log: slog.New(slog.NewMultiHandler(
			here,
			infoAndAbove{otelslog.NewHandler(scope, otelslog.WithLoggerProvider(otel.GetLoggerProvider()))},
		)),
		events:   events,
		shutdown: shutdown,
	}, errors.Join(envErr, setupErr, logErr, statsErr)
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
