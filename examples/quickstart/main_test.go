package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/syncbuffer"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/uevents"
)

// TestWithoutKernel checks the whole output on a machine without user_events.
func TestWithoutKernel(t *testing.T) {
	t.Setenv(uevents.EnvDataFile, t.TempDir()+"/none")
	var out syncbuffer.Buffer
	require.NoError(t, run(t.Context(), &out))
	want, err := os.ReadFile("testdata/inprocess.txt")
	require.NoError(t, err)
	first, rest, _ := strings.Cut(out.String(), "\n")
	assert.True(t, strings.HasPrefix(first, "Events cannot be registered here: "), first)
	assert.Equal(t, string(want), regexp.MustCompile(`time_unix_nano=\d+`).ReplaceAllString(rest, "time_unix_nano=T"))
}

// TestOnKernel attaches to the running example as its output says.
func TestOnKernel(t *testing.T) {
	fs := requireKernel(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out syncbuffer.Buffer
	done := make(chan error)
	go func() { done <- run(ctx, &out) }()
	prints := func(text string) {
		t.Helper()
		testscale.Eventually(t, func() bool { return strings.Contains(out.String(), text) }, "%s", text)
	}
	prints("Logging; all events are disabled.")
	enable := regexp.MustCompile(`echo 1 \| sudo tee (\S+)`).FindStringSubmatch(out.String())
	require.NotNil(t, enable)
	require.NoError(t, os.WriteFile(enable[1], []byte("1"), 0))
	prints("quickstart_info: enabled")
	testscale.Eventually(t, func() bool {
		text := traceText(t, fs)
		return strings.Contains(text, `served`) && strings.Contains(text, `"route":"/users/{id}"`)
	}, "no record of both is in the trace")
	require.NoError(t, os.WriteFile(enable[1], []byte("0"), 0))
	prints("quickstart_info: disabled")
	stop()
	require.NoError(t, <-done)
	assert.True(t, strings.HasSuffix(out.String(), "Done.\n"))
	assert.NotContains(t, out.String(), "quickstart_error: enabled")
}
