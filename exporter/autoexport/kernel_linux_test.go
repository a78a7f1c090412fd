package autoexport_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	contrib "go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/internal/kerneltest"
)

// TestKernel: a program that only reads variables is traced.
func TestKernel(t *testing.T) {
	fs := kerneltest.Require(t)
	name := fmt.Sprintf("auto%d", time.Now().UnixNano())
	choose(t, name)
	ctx := t.Context()
	spans, err := contrib.NewSpanExporter(ctx)
	require.NoError(t, err)
	logs, err := contrib.NewLogExporter(ctx)
	require.NoError(t, err)
	reader, err := contrib.NewMetricReader(ctx)
	require.NoError(t, err)
	require.Empty(t, handled.take())
	tracing := sdktrace.NewTracerProvider(sdktrace.WithBatcher(spans))
	logging := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(logs)))
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))

	instance := kerneltest.NewInstance(t, fs, 64)
	events := []string{name + "_span", name + "_log_warn", name + "_metric_sum"}
	instance.Attach(events...)
	_, span := tracing.Tracer("t").Start(ctx, "work")
	span.End()
	var record log.Record
	record.SetSeverity(log.SeverityWarn)
	logging.Logger("l").Emit(ctx, record)
	counter, err := metrics.Meter("m").Int64Counter("n")
	require.NoError(t, err)
	counter.Add(ctx, 1)
	require.NoError(t, tracing.ForceFlush(ctx))
	require.NoError(t, logging.ForceFlush(ctx))
	require.NoError(t, metrics.ForceFlush(ctx))

	seen := map[string]int{}
	for _, r := range instance.Records() {
		seen[r.Event]++
	}
	for _, event := range events {
		assert.Equal(t, 1, seen[event], event)
	}
	instance.Detach()
	require.NoError(t, tracing.Shutdown(ctx))
	require.NoError(t, logging.Shutdown(ctx))
	require.NoError(t, metrics.Shutdown(ctx))
	assert.Empty(t, handled.take())
}

// TestSetupKernel: a program that calls Setup is traced, and its collector gets the same.
func TestSetupKernel(t *testing.T) {
	fs := kerneltest.Require(t)
	for _, exporters := range []string{"user_events", "user_events,otlp"} {
		p := newProgram(t, exporters)
		name := fmt.Sprintf("setup%d", time.Now().UnixNano())
		shutdown, err := autoexport.Setup(t.Context(), autoexport.WithResource(resource.NewSchemaless(attribute.String("service.name", name))))
		require.NoError(t, err)
		instance := kerneltest.NewInstance(t, fs, 64)
		events := []string{name + "_log_warn", name + "_metric_sum", name + "_span", name + "_span_start"}
		instance.Attach(events...)
		p.work()
		require.NoError(t, shutdown(t.Context()))
		var seen []string
		for _, r := range instance.Records() {
			seen = append(seen, r.Event)
		}
		assert.ElementsMatch(t, events, seen)
		assert.Len(t, p.received(), map[string]int{"user_events,otlp": 3}[exporters])
	}
}
