package autoexport_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	contrib "go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/uevents"
)

// registered sets the SDK up with the exporters that OpenTelemetry's autoexport makes by the environment.
func registered(t *testing.T) (shutdown func(context.Context) error) {
	spans, err := contrib.NewSpanExporter(t.Context())
	require.NoError(t, err)
	logs, err := contrib.NewLogExporter(t.Context())
	require.NoError(t, err)
	reader, err := contrib.NewMetricReader(t.Context())
	require.NoError(t, err)
	tracing := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans))
	otel.SetTracerProvider(tracing)
	logging := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(logs)))
	otel.SetLoggerProvider(logging)
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	otel.SetMeterProvider(metrics)
	return func(ctx context.Context) error {
		return errors.Join(tracing.Shutdown(ctx), logging.Shutdown(ctx), metrics.Shutdown(ctx))
	}
}

// TestRegistered: without user events, a program with OpenTelemetry's autoexport runs as usual, and its error handler gets what is missing.
func TestRegistered(t *testing.T) {
	p := newProgram(t, "user_events")
	t.Setenv(uevents.EnvDataFile, t.TempDir()+"/none")
	shutdown := registered(t)
	text := handled.take()
	for _, of := range []string{"ueventstrace", "ueventslog", "ueventsmetric"} {
		assert.Contains(t, text, of+` "the_environment": `)
	}
	p.work()
	require.NoError(t, shutdown(t.Context())) // newProgram asserts that the handler gets nothing more
}
