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

// TestSetupBatch: sizes with which the SDK's batch processors would panic or exhaust the memory are errors, and the defaults apply.
func TestSetupBatch(t *testing.T) {
	for variable, values := range map[string][]string{
		"OTEL_BSP_MAX_QUEUE_SIZE":        {"-1", "0", "1048577", "9223372036854775807", "9223372036854775808", "many"},
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": {"-1", "0", "1048577", "9223372036854775807"},
		"OTEL_BSP_SCHEDULE_DELAY":        {"-1", "0", "9223372036855"},
		"OTEL_BLRP_MAX_QUEUE_SIZE":       {"-1", "0", "1048577", "9223372036854775807", "many"},
	} {
		for _, value := range values {
			p := newProgram(t, "user_events,otlp")
			t.Setenv(variable, value)
			events, otlp, err := p.run(shop)
			require.ErrorContains(t, err, "autoexport: "+variable+"=\""+value+"\" is not a number from 1 to ")
			assert.Equal(t, eventsOfShop, events)
			assert.Equal(t, otlpOfShop, otlp)
		}
		t.Setenv(variable, "")
	}
	p := newProgram(t, "user_events")
	t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-1")
	_, _, err := p.run(shop)
	require.NoError(t, err, "there is no batch processor")
}

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
		queue, batch string
		spans        int
		want         []int
	}{
		{"", "", 1000, []int{512, 488}},
		{"", "7", 16, []int{7, 7, 2}},
		{" 600 ", "1048576", 600, []int{512, 88}}, // no batch is larger than the queue: the default applies
		{"3", "", 3, []int{3}},
		{"1048576", "1048576", 1000, []int{1000}},
	} {
		useCounting(t, map[string]string{"OTEL_BSP_MAX_QUEUE_SIZE": c.queue, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": c.batch})
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
	useCounting(t, map[string]string{"OTEL_BSP_SCHEDULE_DELAY": "1"})
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

// useCounting sets variables, and those that select the exporter that counts spans.
func useCounting(t *testing.T, variables map[string]string) {
	newProgram(t, "none")
	t.Setenv("OTEL_TRACES_EXPORTER", "counting")
	for variable, value := range variables {
		t.Setenv(variable, value)
	}
}

// setupCounting calls Setup for the exporter that counts spans.
func setupCounting(t *testing.T) (shutdown func(context.Context) error) {
	counting = make(batches, 1000)
	shutdown, err := autoexport.Setup(t.Context(), shop)
	require.NoError(t, err)
	return shutdown
}
