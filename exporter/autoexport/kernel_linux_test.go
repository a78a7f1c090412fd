package autoexport_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/exporter/autoexport"
	"github.com/userevents/userevents-go/internal/kerneltest"
)

// TestKernel: a program that calls Setup, or only reads variables, is traced, and its collector gets the same.
func TestKernel(t *testing.T) {
	fs := kerneltest.Require(t)
	for _, c := range []struct {
		exporters string
		setup     bool
		otlp      int
	}{
		{"user_events", false, 0},
		{"user_events", true, 0},
		{"user_events,otlp", true, 3},
	} {
		p := newProgram(t, c.exporters)
		name := fmt.Sprintf("auto%d", time.Now().UnixNano())
		t.Setenv("OTEL_SERVICE_NAME", name)
		events := []string{name + "_log_warn", name + "_metric_sum", name + "_span"}
		var shutdown func(context.Context) error
		if c.setup {
			var err error
			shutdown, err = autoexport.Setup(t.Context())
			require.NoError(t, err)
			events = append(events, name+"_span_start")
		} else {
			shutdown = registered(t)
		}
		instance := kerneltest.NewInstance(t, fs, 64)
		instance.Attach(events...)
		p.work()
		require.NoError(t, shutdown(t.Context()))
		var seen []string
		for _, r := range instance.Records() {
			seen = append(seen, r.Event)
		}
		assert.ElementsMatch(t, events, seen)
		assert.Len(t, p.received(), c.otlp)
		instance.Detach()
	}
}
