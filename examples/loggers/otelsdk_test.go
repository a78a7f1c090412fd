package main

import (
	"log/slog"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel"
)

// TestSDK: the SDK prints its errors as before, and a tool also gets what the SDK logs below the level error.
func TestSDK(t *testing.T) {
	t.Cleanup(func() {
		otel.SetLogger(logr.Discard())
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	})
	r := newRig(t)
	events := r.handler("shop_sdk")
	sdk := func(out *output, events slog.Handler) {
		logSDK(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelError}), events)
		export(t.Context())
	}
	out, records := observed(r, "shop_sdk_*", events.Stats,
		func(out *output) { sdk(out, slog.DiscardHandler) },
		func(out *output) { sdk(out, events) })
	assert.Equal(t, "level=ERROR msg=\"traces export: connection refused\"\n", out)
	assert.Equal(t, [][]string{
		{"shop_sdk_debug", "-1", "SimpleSpanProcessor is not recommended for production use, consider using BatchSpanProcessor instead."},
		{"shop_sdk_debug", "-4", "TracerProvider created"},
		{"shop_sdk_debug", "-4", "Tracer created"},
		{"shop_sdk_error", "8", "traces export: connection refused"},
	}, fields(records, "event", "level", "message"))
	assert.Contains(t, records[1]["attributes"], `"config":{`)
}
