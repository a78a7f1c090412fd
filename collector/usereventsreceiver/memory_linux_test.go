//go:build !386 && !arm && !mips && !mipsle

package usereventsreceiver

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents"
)

// TestMemoryPrograms: two programs offer events of one name with different fields in shared memory at the same time.
func TestMemoryPrograms(t *testing.T) {
	testscale.HostOnly(t)
	testPrograms(t, transportMemory, transportMemory, 1)
}

// TestKernelAndMemory: one of them has the kernel's events.
func TestKernelAndMemory(t *testing.T) {
	kerneltest.Require(t)
	testPrograms(t, transportKernel, transportAny, 2)
}

// testPrograms runs two programs that end as soon as they have written, the second one with events in shared memory. All records arrive, with
// the fields of their program and its identity, which is the kernel's. They write when there were notices of so many attached events: the
// kernel enables an event before it is attached on all processors.
func testPrograms(t *testing.T, first, read Transport, notices int) {
	var s consumertest.LogsSink
	cfg := fast()
	cfg.Events, cfg.Transport, cfg.Discovery.PollInterval = []string{"rcvupgrade"}, read, cfg.Batch.Timeout
	core, logged := observer.New(zap.DebugLevel)
	r, _ := collect(t, cfg, &s, zap.New(core))

	write := make(chan struct{})
	fields := map[int]map[string]any{} // of the first record, by process
	var programs []*exec.Cmd
	for _, p := range []struct {
		role      string
		transport Transport
		record    map[string]any
	}{
		{"version 1", first, map[string]any{"status": int64(0)}},
		{"version 2", transportMemory, map[string]any{"status": int64(0), "route": "/0"}},
	} {
		cmd := childCommand(t, p.role)
		cmd.Env = append(cmd.Env, envChildTransport+"="+string(p.transport))
		cmd.Stdin, cmd.Stdout = endsAfter(write), new(bytes.Buffer)
		cmd.Stderr = cmd.Stdout
		require.NoError(t, cmd.Start())
		programs = append(programs, cmd)
		p.record["user_events.name"] = "rcvupgrade"
		fields[cmd.Process.Pid] = p.record
	}
	testscale.Eventually(t, func() bool { return logged.FilterMessage(reader.NoticeAttached.String()).Len() >= notices }, "events are not attached")
	close(write) // each also waits until its event is enabled: the second program's may not be, if both are in shared memory
	for _, cmd := range programs {
		require.NoError(t, cmd.Wait(), cmd.Stdout)
	}
	testscale.Eventually(t, func() bool { return s.LogRecordCount() == len(programs)*childRecords }, "not all records arrive")
	ses := r.(*session)
	testscale.Eventually(t, func() bool { return ses.attached() == 0 }, "events of programs that have ended are attached")
	require.NoError(t, r.Shutdown(t.Context()))

	counts := map[int]int{}
	for _, data := range s.AllLogs() {
		for _, rl := range data.ResourceLogs().All() {
			resource := rl.Resource().Attributes().AsRaw()
			pid := int(resource["process.pid"].(int64))
			name := "usereventsreceiver.test"
			if first == transportKernel && pid == programs[0].Process.Pid {
				name = name[:15] // it has ended before its first record was read
			}
			assert.Contains(t, resource["process.executable.name"], name)
			records := rl.ScopeLogs().At(0).LogRecords()
			if counts[pid] == 0 {
				assert.Equal(t, fields[pid], records.At(0).Attributes().AsRaw())
			}
			counts[pid] += records.Len()
		}
	}
	assert.Len(t, counts, len(programs))
	for pid, n := range counts {
		assert.Equal(t, childRecords, n, pid)
	}
}

// TestNeighbour: of two programs that flood shared memory and one that writes 50 records a second, the latter loses nothing, and the others
// are limited, which the metrics say.
func TestNeighbour(t *testing.T) {
	testscale.HostOnly(t)
	testNeighbour(t, transportMemory)
}

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
	r, telemetry := collect(t, cfg, &s, zap.NewNop())
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
	r, telemetry := collect(t, cfg, &s, zap.NewNop())

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

	got := map[string]int{}
	seen := map[int64]bool{}
	for record := range recordsOf(s.AllLogs()) {
		got[record.SeverityText()]++
		if n, _ := record.Attributes().Get("n"); record.SeverityText() == "WARN" {
			assert.False(t, seen[n.Int()], "%d is there twice", n.Int())
			seen[n.Int()] = true
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
