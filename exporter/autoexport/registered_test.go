package autoexport_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	contrib "go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
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

// TestLongestName: all events can have the longest name that a service gets.
func TestLongestName(t *testing.T) {
	p := ueventstest.New(t, nil).Provider()
	defer func() { require.NoError(t, p.Close()) }()
	name := strings.Repeat("n", 52)
	_, err := ueventstrace.NewExporter(name, ueventstrace.WithProvider(p))
	assert.NoError(t, err)
	_, err = ueventslog.NewExporter(name, ueventslog.WithProvider(p))
	assert.NoError(t, err)
	_, err = ueventsmetric.NewExporter(name, ueventsmetric.WithProvider(p))
	assert.NoError(t, err)
}
