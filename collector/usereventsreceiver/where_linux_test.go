//go:build !386 && !arm && !mips && !mipsle

package usereventsreceiver

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// TestWhere: records that do not meet the level and the condition are not collected, and counted.
func TestWhere(t *testing.T) {
	testscale.HostOnly(t)
	name := fmt.Sprintf("rcvwhere_%d", os.Getpid())
	cfg := fast()
	cfg.Events, cfg.Transport = []string{name}, transportMemory
	cfg.Level, cfg.Where = "info", "status >= 500 and not (http.route ~ '/health*')"
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	h, err := sloghandler.New(name, &sloghandler.Options{Provider: p})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	logger := slog.New(h)

	var s sink
	telemetry := componenttest.NewTelemetry()
	t.Cleanup(func() { assert.NoError(t, telemetry.Shutdown(context.Background())) })
	r, err := NewFactory().CreateLogs(t.Context(), newSettings(telemetry), cfg, &s)
	require.NoError(t, err)
	require.NoError(t, r.Start(t.Context(), newHost()))
	testscale.Eventually(t, func() bool { return logger.Enabled(t.Context(), slog.LevelInfo) }, "the receiver does not attach")
	assert.False(t, logger.Enabled(t.Context(), slog.LevelDebug), "no debug record can meet the level")
	logger.Info("one", "status", 500)
	logger.Info("two", "status", 404)
	logger.Error("three", "status", 503, "http.route", "/health/live")
	logger.Error("four", "status", 503, "http.route", "/users")
	require.NoError(t, r.Shutdown(t.Context()))
	assert.Equal(t, []string{"one", "four"}, s.bodies())
	assert.EqualValues(t, 2, counter(t, telemetry, "user_events_excluded_records", attribute.String("reason", "condition")))
}
