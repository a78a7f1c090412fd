//go:build !386 && !arm && !mips && !mipsle

package usereventsreceiver

import (
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// TestMemoryRules: a file switches the debug records of a program on and off, while the receiver collects its warnings.
func TestMemoryRules(t *testing.T) {
	testscale.HostOnly(t)
	testRules(t, transportMemory, uevents.TransportMemory)
}

// TestKernelRules: the same for the kernel's events.
func TestKernelRules(t *testing.T) {
	kerneltest.Require(t)
	testRules(t, transportKernel, uevents.TransportKernel)
}

func testRules(t *testing.T, read Transport, write uevents.Transport) {
	p, err := uevents.Open(&uevents.Options{Transport: write})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	h, err := sloghandler.New("rcvrules", &sloghandler.Options{Provider: p})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })

	var s consumertest.LogsSink
	cfg := fast()
	cfg.Events, cfg.Level, cfg.Transport, cfg.Discovery.PollInterval = []string{"rcvrules"}, "warn", read, 10*time.Millisecond
	cfg.Discovery.RulesFile = filepath.Join(t.TempDir(), "rules.yaml")
	telemetry := componenttest.NewTelemetry()
	r, err := NewFactory().CreateLogs(t.Context(), newSettings(telemetry), cfg, &s)
	require.NoError(t, err)
	host := newHost()
	require.NoError(t, r.Start(t.Context(), host))
	host.awaitOK(t)

	written := 0 // of each level
	log := func(level slog.Level) bool {
		if !h.Enabled(t.Context(), level) {
			return false
		}
		slog.New(h).Log(t.Context(), level, "message", "n", written)
		return true
	}
	until := func(message string, condition func() bool) {
		t.Helper()
		testscale.Eventually(t, func() bool {
			written++
			require.True(t, log(slog.LevelWarn), "warnings are not collected")
			return condition()
		}, "%s", message)
	}
	rules := func(text string) { // as a ConfigMap: another file
		require.NoError(t, os.WriteFile(cfg.Discovery.RulesFile+".new", []byte(text), 0o600))
		require.NoError(t, os.Rename(cfg.Discovery.RulesFile+".new", cfg.Discovery.RulesFile))
	}
	testscale.Eventually(t, func() bool { return h.Enabled(t.Context(), slog.LevelWarn) }, "warnings are not collected")
	assert.False(t, h.Enabled(t.Context(), slog.LevelDebug))

	debug := 0
	rule := func(end time.Time) string {
		return "rules: [{events: [rcvrules], level: debug, where: has(n), until: " + end.Format(time.RFC3339) + "}]"
	}
	rules(rule(time.Now().Add(time.Hour)))
	until("the rule is not applied", func() bool { return h.Enabled(t.Context(), slog.LevelDebug) })
	testscale.Eventually(t, func() bool {
		assert.True(t, log(slog.LevelDebug))
		debug++
		return s.LogRecordCount() > written
	}, "no debug record arrives")

	rules("rules: [{events: [rcvrules]}]")
	until("the file is not refused", func() bool { return counter(t, telemetry, "user_events_refused_rules") == 1 })
	require.True(t, log(slog.LevelDebug), "the earlier rules do not stay")
	debug++

	// Its end comes without a change of the file.
	rules(rule(time.Now().Add(2 * time.Second)))
	until("the rule does not end", func() bool { return !h.Enabled(t.Context(), slog.LevelDebug) })
	until("the rule is in force", func() bool {
		m, err := telemetry.GetMetric("otelcol_receiver_user_events_active_rules")
		require.NoError(t, err)
		return m.Data.(metricdata.Gauge[int64]).DataPoints[0].Value == 0
	})
	require.NoError(t, r.Shutdown(t.Context()))
	require.NoError(t, telemetry.Shutdown(t.Context()))

	got := map[string]int{}
	seen := map[int64]bool{}
	for _, data := range s.AllLogs() {
		for _, rl := range data.ResourceLogs().All() {
			for _, record := range rl.ScopeLogs().At(0).LogRecords().All() {
				got[record.SeverityText()]++
				if n, _ := record.Attributes().Get("n"); record.SeverityText() == "WARN" {
					assert.False(t, seen[n.Int()], "%d is there twice", n.Int())
					seen[n.Int()] = true
				}
			}
		}
	}
	assert.Equal(t, written, got["WARN"], "warnings are lost")
	assert.LessOrEqual(t, got["DEBUG"], debug)
	assert.Positive(t, got["DEBUG"])
}

// TestRulesFileOfOtherKinds: a file that is none does not make the receiver wait, nor take its memory.
func TestRulesFileOfOtherKinds(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for _, path := range []string{fifo, "/dev/zero", t.TempDir()} {
		result := make(chan error, 1)
		go func() {
			_, err := readRules(path)
			result <- err
		}()
		testscale.Eventually(t, func() bool { return len(result) > 0 }, "%s: it waits", path)
		assert.ErrorContains(t, <-result, "is not a regular file")
	}
	_, err := readRules("/proc/self/status") // which has no size
	assert.NoError(t, err)
	_, err = readRules("/proc/kallsyms")
	assert.ErrorContains(t, err, "more than")
}
