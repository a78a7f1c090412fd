package main

import (
	"context"
	"errors"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/sloghandler/oteltrace"
	"github.com/userevents/userevents-go/uevents"
)

// telemetry is all that the service knows about tracing.
type telemetry struct {
	spans      trace.TracerProvider
	propagator propagation.TextMapPropagator
	log        *slog.Logger

	sdk    *sdktrace.TracerProvider
	events *sloghandler.Handler
}

// newTelemetry registers the events of spans and log records, which have the same beginning
// of their names. With an error the telemetry works, and its events are never enabled.
func newTelemetry(name string, p *uevents.Provider) (*telemetry, error) {
	processor, spanErr := ueventstrace.NewProcessor(name, ueventstrace.WithEventProvider(p))
	events, logErr := sloghandler.New(name, &sloghandler.Options{Provider: p, TraceContext: oteltrace.Context})
	sdk := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(processor),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", name))),
	)
	return &telemetry{
		spans:      ueventstrace.NewTracerProvider(sdk, processor),
		propagator: propagation.TraceContext{},
		log:        slog.New(events),
		sdk:        sdk,
		events:     events,
	}, errors.Join(spanErr, logErr)
}

func (t *telemetry) close() {
	_ = t.sdk.Shutdown(context.Background()) // the process ends, and nothing waits to be sent
	_ = t.events.Close()
}
