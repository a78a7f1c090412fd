package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// events are those that the program writes.
var events = []string{
	"loggers_zap_debug", "loggers_zap_info", "loggers_zap_error", "loggers_zerolog_debug", "loggers_zerolog_info", "loggers_zerolog_error",
	"loggers_otel_log_debug", "loggers_otel_log_info", "loggers_otel_log_error", "loggers_logr_debug", "loggers_logr_info",
	"loggers_logr_error", "loggers_sdk_debug", "loggers_sdk_error",
}

// start runs the program until the test calls stop.
func start(t *testing.T, p *uevents.Provider) (out *output, stop func()) {
	t.Cleanup(func() {
		otel.SetLogger(logr.Discard())
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	})
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	out = &output{}
	done := make(chan error, 1)
	go func() { done <- run(ctx, out, p, 10*time.Millisecond) }()
	return out, func() {
		cancel()
		require.NoError(t, <-done)
	}
}

// TestRun: the program logs through each logger, and a tool gets the records of all of them.
func TestRun(t *testing.T) {
	r := newRig(t)
	out, stop := start(t, r.provider)
	testscale.Eventually(t, func() bool { return strings.Contains(out.String(), "level=ERROR") }, "no first round")
	tool := r.attach("loggers_*")
	seen := map[string]bool{}
	testscale.Eventually(t, func() bool {
		for _, one := range r.records(tool) {
			seen[one["event"]] = true
		}
		return len(seen) == len(events)
	}, "records are missing")
	stop()
	for _, name := range events {
		assert.Contains(t, seen, name)
	}
	assert.NotContains(t, out.String(), "cache miss")
	for _, e := range r.kernel.Events() {
		assert.Zero(t, e.Words, "%s is still registered", e.Name)
	}
}
