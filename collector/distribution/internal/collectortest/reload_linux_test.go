//go:build !386 && !arm && !mips && !mipsle

package collectortest

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// TestMemoryReload: a reload of the configuration loses no record that a program has written, but the program writes none until the
// receiver is attached again. A change of the rules leaves no such time.
func TestMemoryReload(t *testing.T) {
	testscale.HostOnly(t)
	p, err := uevents.Open(&uevents.Options{Transport: uevents.TransportMemory})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	h, err := sloghandler.New(memoryName+"_reload", &sloghandler.Options{Provider: p})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })

	rules := filepath.Join(t.TempDir(), "rules.yaml")
	s := settings{receivers: strings.Replace(inMemory, "discovery: {", "level: info, discovery: {rules_file: "+rules+", ", 1), pipelines: []string{"logs"}}
	c := start(t, s)
	testscale.Eventually(t, func() bool { return h.Enabled(t.Context(), slog.LevelInfo) }, "the event is not enabled")

	written, missed := 0, 0
	logUntil := func(what string, condition func() bool) {
		t.Helper()
		missed = 0
		c.until(what, func() bool {
			for range 10 {
				time.Sleep(time.Millisecond) //nolint:forbidigo // pacing
				if h.Enabled(t.Context(), slog.LevelInfo) {
					slog.New(h).Info("message")
					written++
				} else {
					missed++
				}
			}
			return condition()
		})
	}
	rest := "events: [" + memoryName + "], until: " + time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for _, rule := range []string{"{level: debug, " + rest + "}", "{level: info, " + rest + "}"} {
		debug := strings.Contains(rule, "debug")
		require.NoError(t, os.WriteFile(rules, []byte("rules: ["+rule+"]"), 0o600))
		logUntil("the rules are in force: "+rule, func() bool { return h.Enabled(t.Context(), slog.LevelDebug) == debug })
		assert.Zero(t, missed, "records are missing while rules change")
	}

	config := filepath.Join(filepath.Dir(c.report), "config.yaml")
	before := c.report
	c.report = filepath.Join(filepath.Dir(before), "report2.json")
	require.NoError(t, os.WriteFile(config, []byte(c.configuration(s)), 0o600))
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGHUP))
	const ready = "Everything is ready"
	logUntil("the Collector is ready again", func() bool {
		return strings.Count(c.said(), ready) == 2 && h.Enabled(t.Context(), slog.LevelInfo)
	})
	t.Logf("records of about %d ms are missing because of the reload", missed)
	c.end()
	arrived := c.received().Logs
	c.report = before
	assert.Equal(t, written, arrived+c.received().Logs, "%d of them after the reload", arrived)
}
