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

	"github.com/userevents/userevents-go/internal/memory/attachtest"
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
	name := memoryName + "_reload"
	h, err := sloghandler.New(name, &sloghandler.Options{Provider: p})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })

	rules := filepath.Join(t.TempDir(), "rules.yaml")
	s := settings{receivers: strings.Replace(inMemory, "discovery: {", "level: info, discovery: {rules_file: "+rules+", ", 1), pipelines: []string{"logs"}}
	c := start(t, s)
	c.until("it has attached", func() bool {
		return attachtest.Attached(c.cmd.Process.Pid, os.Getpid(), func(event string) bool { return event != name+"_debug" })
	})
	// attached returns the Collector's session, if it requests an event, and whether the event is enabled. Other tools may have enabled it, too.
	attached := func(event string) (generation uint64, enabled bool) {
		st, err := attachtest.Of(os.Getpid(), c.cmd.Process.Pid)
		require.NoError(t, err)
		for _, session := range st.Sessions {
			if enabled, ok := session.Events[event]; ok {
				return session.Generation, enabled
			}
		}
		return 0, false
	}

	written, unsure, missed := 0, 0, 0
	logUntil := func(what string, condition func() bool) {
		t.Helper()
		c.until(what, func() bool {
			for range 10 {
				time.Sleep(time.Millisecond) //nolint:forbidigo // pacing
				before, enabled := attached(name + "_info")
				slog.New(h).Info("message")
				switch after, still := attached(name + "_info"); {
				case enabled && still && before == after:
					written++
				case before == 0 && after == 0:
					missed++
				default:
					unsure++ // the session begins or ends
				}
			}
			return condition()
		})
	}
	rest := "events: [" + memoryName + "], until: " + time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for _, rule := range []string{"{level: debug, " + rest + "}", "{level: info, " + rest + "}"} {
		debug := strings.Contains(rule, "debug")
		require.NoError(t, os.WriteFile(rules, []byte("rules: ["+rule+"]"), 0o600))
		logUntil("the rules are in force: "+rule, func() bool {
			_, enabled := attached(name + "_debug")
			return enabled == debug
		})
		assert.Zero(t, unsure+missed, "records are missing while rules change")
	}

	config := filepath.Join(filepath.Dir(c.report), "config.yaml")
	before := c.report
	c.report = filepath.Join(filepath.Dir(before), "report2.json")
	require.NoError(t, os.WriteFile(config, []byte(c.configuration(s)), 0o600))
	first, _ := attached(name + "_info")
	c.signal(syscall.SIGHUP)
	logUntil("it has attached again", func() bool {
		generation, enabled := attached(name + "_info")
		return enabled && generation != first
	})
	t.Logf("records of about %d ms are missing because of the reload", missed)
	c.end()
	arrived := c.received().Logs
	c.report = before
	arrived += c.received().Logs
	assert.GreaterOrEqual(t, arrived, written)
	assert.LessOrEqual(t, arrived, written+unsure)
}
