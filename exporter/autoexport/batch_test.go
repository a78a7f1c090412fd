package autoexport_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/exporter/autoexport"
)

// batches is an exporter of spans that says how many it gets at a time.
type batches chan int

func (b batches) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	b <- len(spans)
	return nil
}
func (b batches) Shutdown(context.Context) error { return nil }

// TestSetupBatchSizes: sizes that are possible apply as in the SDK.
func TestSetupBatchSizes(t *testing.T) {
	for _, c := range []struct {
		variables string
		spans     int
		want      []int
	}{
		{"OTEL_BSP_MAX_QUEUE_SIZE=,OTEL_BSP_MAX_EXPORT_BATCH_SIZE=", 1000, []int{512, 488}},
		{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=7", 16, []int{7, 7, 2}},
		{"OTEL_BSP_MAX_QUEUE_SIZE= 600 ,OTEL_BSP_MAX_EXPORT_BATCH_SIZE=1048576", 600, []int{512, 88}}, // a larger batch than the queue: the default
		{"OTEL_BSP_MAX_QUEUE_SIZE=3", 3, []int{3}},
		{"OTEL_BSP_MAX_QUEUE_SIZE=1048576,OTEL_BSP_MAX_EXPORT_BATCH_SIZE=1048576", 1000, []int{1000}},
	} {
		useCounting(t, c.variables)
		shutdown := setupCounting(t)
		for range c.spans {
			_, span := otel.Tracer("t").Start(t.Context(), "work")
			span.End()
		}
		require.NoError(t, shutdown(t.Context()))
		close(counting)
		var got []int
		for n := range counting {
			got = append(got, n)
		}
		assert.Equal(t, c.want, got, c)
	}
}

// TestSetupBatchDelay: a delay applies that is possible, in milliseconds.
func TestSetupBatchDelay(t *testing.T) {
	useCounting(t, "OTEL_BSP_SCHEDULE_DELAY=1")
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		shutdown := setupCounting(t)
		_, span := otel.Tracer("t").Start(t.Context(), "work")
		span.End()
		assert.Equal(t, 1, <-counting)
		assert.Equal(t, time.Millisecond, time.Since(begin)) //nolint:forbidigo // synctest
		require.NoError(t, shutdown(t.Context()))
	})
}

// useCounting selects the exporter that counts spans, and sets variables.
func useCounting(t *testing.T, variables string) {
	newProgram(t, "none")
	t.Setenv("OTEL_TRACES_EXPORTER", "counting")
	setenv(t, variables)
}

// setupCounting calls Setup for the exporter that counts spans.
func setupCounting(t *testing.T) (shutdown func(context.Context) error) {
	counting = make(batches, 1000)
	shutdown, err := autoexport.Setup(t.Context(), shop)
	require.NoError(t, err)
	return shutdown
}
