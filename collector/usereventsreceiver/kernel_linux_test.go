package usereventsreceiver

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/uevents"
)

// collect starts a receiver that reads the machine's events.
func collect(t *testing.T, cfg *Config, next consumer.Logs, logger *zap.Logger) (receiver.Logs, *componenttest.Telemetry) {
	t.Helper()
	telemetry := componenttest.NewTelemetry()
	t.Cleanup(func() { assert.NoError(t, telemetry.Shutdown(context.Background())) })
	set := newSettings(telemetry)
	set.Logger = logger
	r, err := NewFactory().CreateLogs(t.Context(), set, cfg, next)
	require.NoError(t, err)
	h := newHost()
	require.NoError(t, r.Start(t.Context(), h))
	t.Cleanup(func() { assert.NoError(t, r.Shutdown(context.Background())) })
	h.awaitOK(t)
	return r, telemetry
}

// exists reports whether an event exists whose name begins with a prefix.
func exists(t *testing.T, dir *tracefs.Dir, prefix string) bool {
	st, err := dir.Status()
	require.NoError(t, err)
	for _, e := range st.Events {
		if strings.HasPrefix(e.Name, prefix) {
			return true
		}
	}
	return false
}

// TestKernelEventsComeAndGo: events that appear late, disappear, appear again, and then have other fields are collected
// completely.
func TestKernelEventsComeAndGo(t *testing.T) {
	dir := kerneltest.Require(t)
	var s sink
	cfg := fast()
	cfg.Events = []string{"rcvupgrade"}
	cfg.Discovery.PollInterval = 50 * time.Millisecond
	attached := make(chan struct{}, 100) // to an event, on all CPUs
	core, _ := observer.New(zap.DebugLevel)
	r, telemetry := collect(t, cfg, &s, zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
		if e.Message == reader.NoticeAttached.String() {
			attached <- struct{}{}
		}
		return nil
	})))
	roles := []string{"version 1", "version 1", "version 2"}
	for i, role := range roles {
		runChild(t, role, func(cmd *exec.Cmd) { cmd.Stdin = endsAfter(attached) })
		testscale.Eventually(t, func() bool { return s.LogRecordCount() == (i+1)*childRecords }, "records are missing")
		if i == 0 { // the receiver lets go of it
			testscale.Eventually(t, func() bool { return !exists(t, dir, "rcvupgrade") }, "the receiver holds on to an event")
		}
	}
	require.NoError(t, r.Shutdown(t.Context()))
	assert.Equal(t, len(roles)*childRecords, s.LogRecordCount())
	assert.Zero(t, counter(t, telemetry, "user_events_lost_records"))
	all := s.AllLogs()
	last := all[len(all)-1].ResourceLogs().At(0).ScopeLogs().At(0).LogRecords()
	attributes := last.At(last.Len() - 1).Attributes().AsRaw()
	assert.Equal(t, "/99", attributes["route"])
	assert.Equal(t, int64(99), attributes["status"])
	testscale.Eventually(t, func() bool { return !exists(t, dir, "rcvupgrade") }, "the receiver holds on to an event") // the kernel removes it later
}

// TestKernelShortLived: while events appear and vanish faster than the receiver can attach to them, it collects the others completely, and
// reports no error.
func TestKernelShortLived(t *testing.T) {
	dir := kerneltest.Require(t)
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, p.Close()) }()
	steady, err := structevent.Define[version1](p, "rcvshort_steady", nil)
	require.NoError(t, err)
	var s sink
	cfg := fast()
	cfg.Events = []string{"rcvshort"}
	cfg.Discovery.PollInterval = time.Millisecond
	telemetry := componenttest.NewTelemetry()
	r, err := NewFactory().CreateLogs(t.Context(), newSettings(telemetry), cfg, &s)
	require.NoError(t, err)
	h := newHost()
	require.NoError(t, r.Start(t.Context(), h))
	h.awaitOK(t)
	const rounds = 200
	for i := range rounds {
		short, err := uevents.Open(nil)
		require.NoError(t, err)
		e, err := structevent.Define[version2](short, fmt.Sprint("rcvshort_", i%7), nil)
		require.NoError(t, err)
		e.Emit(&version2{Route: "/"})
		steady.Emit(&version1{Status: uint32(i)})
		require.NoError(t, short.Close())
		if i%3 == 0 { // some live long enough
			time.Sleep(2 * time.Millisecond) //nolint:forbidigo // pacing
		}
	}
	require.NoError(t, r.Shutdown(t.Context()))
	_, status, err := h.last()
	assert.Equal(t, componentstatus.StatusOK, status)
	require.NoError(t, err)
	arrived := 0
	for lr := range recordsOf(s.AllLogs()) {
		if name, _ := lr.Attributes().Get("user_events.name"); name.Str() == "rcvshort_steady" {
			arrived++
		}
	}
	assert.Equal(t, rounds, arrived)
	assert.Zero(t, counter(t, telemetry, "user_events_lost_records"))
	t.Logf("%d records of short-lived events; %d attachments failed", s.LogRecordCount()-arrived, counter(t, telemetry, "user_events_failed_attachments"))
	require.NoError(t, telemetry.Shutdown(t.Context()))
	testscale.Eventually(t, func() bool {
		for i := range 7 {
			if exists(t, dir, fmt.Sprint("rcvshort_", i)) {
				return false
			}
		}
		return true
	}, "the receiver holds on to an event")
}

// TestKernelBlocked: while a consumer is blocked, memory stays within its bound, and the kernel counts what is lost: of the
// records that programs write on all processors, each is accepted, lost or dropped.
func TestKernelBlocked(t *testing.T) {
	kerneltest.Require(t)
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, p.Close()) }()
	e, err := structevent.Define[version2](p, "rcvblocked", nil)
	require.NoError(t, err)

	release := make(chan struct{})
	unblock := sync.OnceFunc(func() { close(release) })
	defer unblock()
	s := &sink{refuse: func(plog.Logs) error { <-release; return nil }}
	cfg := fast()
	cfg.Events, cfg.BudgetMiB, cfg.Batch.MaxSizeKiB, cfg.Spans.MaxSizeMiB = []string{"rcvblocked"}, 8, 256, 1
	r, telemetry := collect(t, cfg, s, zap.NewNop())
	testscale.Eventually(t, e.Enabled, "the event is not enabled")
	before := heap()
	var written atomic.Int64
	lost := func() int64 { return counter(t, telemetry, "user_events_lost_records") }
	burst := func(n int) {
		var writers sync.WaitGroup
		for range runtime.NumCPU() {
			writers.Go(func() {
				record := &version2{Route: "/users/{id}/orders/{order}/items"}
				for range n {
					e.Emit(record)
				}
				written.Add(int64(n))
			})
		}
		writers.Wait()
	}
	for lost() == 0 { // the queue and the rings are full at some time
		burst(1000)
	}
	b := cfg.budget(runtime.NumCPU())
	bound := int64(ringSets*runtime.NumCPU()*b.ring+b.queue) + 3*int64(cfg.Batch.MaxSizeKiB<<10) + int64(cfg.Spans.MaxSizeMiB<<20)
	used := heap() - before
	assert.LessOrEqual(t, used, bound)
	unblock()
	burst(1000)
	require.NoError(t, r.Shutdown(t.Context()))
	accepted := counter(t, telemetry, "accepted_log_records")
	t.Logf("%d written, %d accepted, %d lost; %d KiB of memory while blocked, at most %d KiB", written.Load(), accepted, lost(), used>>10, bound>>10)
	assert.Equal(t, written.Load(), accepted+lost()+counter(t, telemetry, "user_events_dropped_records"))
	assert.Equal(t, accepted, int64(s.LogRecordCount()))
	assert.Greater(t, accepted, int64(runtime.NumCPU()*1000), "what was written after the consumer was ready again is missing")
}

// heap returns the bytes of live memory.
func heap() int64 {
	runtime.GC()
	var st runtime.MemStats
	runtime.ReadMemStats(&st)
	return int64(st.HeapAlloc)
}

// TestKernelMissing: without tracefs or permission the receiver runs, and its status says what is missing.
func TestKernelMissing(t *testing.T) {
	kerneltest.Require(t)
	t.Run("tracefs", func(t *testing.T) {
		runChild(t, "missing", func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} })
	})
	t.Run("permission", func(t *testing.T) { runChild(t, "denied") })
}

// envChild says what TestChild does. Without it, the test does nothing.
const envChild = "USEREVENTSRECEIVER_CHILD"

// envChildTransport is the transport of its events; kerneltest chooses the kernel in guests.
const envChildTransport = "USEREVENTSRECEIVER_TRANSPORT"

// runChild runs this program as another process, to its end.
func runChild(t *testing.T, role string, change ...func(*exec.Cmd)) {
	t.Helper()
	cmd := childCommand(t, role)
	for _, f := range change {
		f(cmd)
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// childCommand returns the command that runs this program as another process.
func childCommand(t *testing.T, role string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(), envChild+"="+role)
	cmd.WaitDelay = testscale.Patience // for an input that does not end
	return cmd
}

// TestChild is what the processes of other tests do.
func TestChild(t *testing.T) {
	if transport := os.Getenv(envChildTransport); transport != "" {
		t.Setenv(uevents.EnvTransport, transport)
	}
	switch role := os.Getenv(envChild); role {
	case "rcvshare_a", "rcvshare_b":
		flood(t, role)
	case "rcvshare_modest":
		trickle(t, role)
	case "version 1":
		write(t, func(i int) *version1 { return &version1{uint32(i)} })
	case "version 2":
		write(t, func(i int) *version2 { return &version2{fmt.Sprint("/", i), uint16(i)} })
	case "missing":
		checkMissing(t)
	case "denied":
		require.NoError(t, syscall.Setgroups(nil))
		require.NoError(t, syscall.Setgid(65534))
		require.NoError(t, syscall.Setuid(65534))
		r, h := startReal(t)
		testscale.Eventually(t, func() bool { n, _, _ := h.last(); return n > 0 }, "no status is reported")
		_, status, err := h.last()
		assert.Equal(t, componentstatus.StatusRecoverableError, status)
		require.ErrorIs(t, err, os.ErrPermission)
		require.NoError(t, r.Shutdown(context.Background()))
	}
}

// Two versions of a program's event.
type (
	version1 struct {
		Status uint32 `uevent:"status"`
	}
	version2 struct {
		Route  string `uevent:"route"`
		Status uint16 `uevent:"status"`
	}
)

// endsAfter is an input that ends when it gets a value.
type endsAfter <-chan struct{}

func (c endsAfter) Read([]byte) (int, error) {
	<-c
	return 0, io.EOF
}

// childRecords is how many records a child writes.
const childRecords = 100

// write writes records of a version when its input ends, as a tool is attached then.
func write[T any](t *testing.T, record func(i int) *T) {
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, p.Close()) }()
	e, err := structevent.Define[T](p, "rcvupgrade", nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, os.Stdin)
	require.NoError(t, err)
	testscale.Eventually(t, e.Enabled, "the event is not enabled")
	for i := range childRecords {
		e.Emit(record(i))
	}
}

// startReal starts a receiver that reads the machine's events.
func startReal(t *testing.T) (interface{ Shutdown(context.Context) error }, *host) {
	cfg := fast()
	cfg.Events = []string{"rcvnone"}
	r, err := NewFactory().CreateLogs(context.Background(), receivertest.NewNopSettings(metadata.Type), cfg, consumertest.NewNop())
	require.NoError(t, err)
	h := newHost()
	require.NoError(t, r.Start(context.Background(), h))
	return r, h
}

// checkMissing runs in a mount namespace of its own. It takes tracefs away and gives it back.
func checkMissing(t *testing.T) {
	for _, dir := range []string{"/sys/kernel/debug", "/sys/kernel/tracing"} {
		for syscall.Unmount(dir, syscall.MNT_DETACH) == nil {
			continue // until nothing is mounted
		}
	}
	r, h := startReal(t)
	testscale.Eventually(t, func() bool { n, _, _ := h.last(); return n > 0 }, "no status is reported")
	_, status, err := h.last()
	assert.Equal(t, componentstatus.StatusRecoverableError, status)
	require.ErrorContains(t, err, "tracefs")
	require.NoError(t, syscall.Mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, ""))
	h.awaitOK(t)
	require.NoError(t, r.Shutdown(context.Background()))
}
