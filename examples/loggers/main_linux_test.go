package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// TestOnKernel: ftrace gets the records of each logger from a real kernel.
func TestOnKernel(t *testing.T) {
	fs := kerneltest.Require(t)
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, p.Close()) }()
	out, stop := start(t, p)
	testscale.Eventually(t, func() bool { return strings.Contains(out.String(), "level=ERROR") }, "no first round")
	instance := kerneltest.NewInstance(t, fs, 256)
	instance.Attach(events...)
	payloads := map[string][]byte{}
	testscale.Eventually(t, func() bool {
		for _, one := range instance.Records() {
			payloads[one.Event] = append(payloads[one.Event], one.Payload...)
		}
		return len(payloads) == len(events)
	}, "records are missing")
	stop()
	for _, logger := range []string{"zap", "zerolog", "slogmulti", "otel_log", "logr"} {
		assert.Contains(t, string(payloads["loggers_"+logger+"_debug"]), `"key":"user:41"`)
	}
}
