package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// TestOnKernel: a real kernel records the points of each kind of instrument.
func TestOnKernel(t *testing.T) {
	fs := kerneltest.Require(t)
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, p.Close()) }()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- run(ctx, p, 100*time.Millisecond) }()
	instance := kerneltest.NewInstance(t, fs, 256)
	names := []string{"metrics_metric_gauge", "metrics_metric_sum", "metrics_metric_histogram"}
	testscale.Eventually(t, func() bool {
		_, err := instance.Event(names[2]).ID()
		return err == nil
	}, "the program has not registered its events")
	instance.Attach(names...)
	payloads := map[string]string{}
	testscale.Eventually(t, func() bool {
		for _, one := range instance.Records() {
			payloads[one.Event] += string(one.Payload)
		}
		return len(payloads) == len(names)
	}, "records are missing")
	stop()
	require.NoError(t, <-done)
	for event, instrument := range map[string]string{names[0]: "shop.waiting", names[1]: "shop.orders", names[2]: "shop.checkout.duration"} {
		assert.True(t, strings.Contains(payloads[event], instrument), "%s: %q", event, payloads[event])
	}
}
