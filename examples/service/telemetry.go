package main

import (
	"context"
	"errors"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/sloghandler/oteltrace"
	"github.com/userevents/userevents-go/uevents"
)

// telemetry is all that the service knows about tracing.
type telemetry struct {
	spans      *ueventstrace.TracerProvider
	propagator propagation.TextMapPropagator
	log        *slog.Logger
	events     *sloghandler.Handler
}

// newTelemetry registers the events of spans and log records, which have the same beginning
// of their names. With an error the telemetry works, and its events are never enabled.
func newTelemetry(name string, p *uevents.Provider) (*telemetry, error) {
	spans, spanErr := ueventstrace.NewTracerProvider(name, ueventstrace.WithEventProvider(p),
		ueventstrace.WithPropagation(), // the client and the server are both ours: their spans are one trace
		ueventstrace.WithResource(resource.NewSchemaless(attribute.String("service.name", name))))
	events, logErr := sloghandler.New(name, &sloghandler.Options{Provider: p, TraceContext: oteltrace.Context})
	return &telemetry{
		spans:      spans,
		propagator: propagation.TraceContext{},
		log:        slog.New(events),
		events:     events,
	}, errors.Join(spanErr, logErr)
}

// shutdown unregisters the events. Records are written when and where they occur, so that none waits.
func (t *telemetry) shutdown(ctx context.Context) error {
	return errors.Join(t.spans.Shutdown(ctx), t.events.Close())
}
