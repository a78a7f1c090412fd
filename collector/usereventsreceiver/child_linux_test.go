package usereventsreceiver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/uevents"
)

// envChild says what TestChild does. Without it, the test does nothing.
const envChild = "USEREVENTSRECEIVER_CHILD"

// runChild runs this program as another process, to its end.
func runChild(t *testing.T, role string, change ...func(*exec.Cmd)) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(), envChild+"="+role)
	for _, f := range change {
		f(cmd)
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// TestChild is what the processes of other tests do.
func TestChild(t *testing.T) {
	switch os.Getenv(envChild) {
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
		require.Eventually(t, func() bool { n, _, _ := h.last(); return n > 0 }, wait, time.Millisecond)
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

// settle is how long a child waits once its event is enabled: the kernel enables it on one processor after the other.
const settle = 500 * time.Millisecond

// childRecords is how many records a child writes.
const childRecords = 100

// write writes records of a version as soon as the event is enabled.
func write[T any](t *testing.T, record func(i int) *T) {
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	defer func() { assert.NoError(t, p.Close()) }()
	e, err := structevent.Define[T](p, "rcvupgrade", nil)
	require.NoError(t, err)
	require.Eventually(t, e.Enabled, wait, time.Millisecond)
	time.Sleep(settle)
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
	require.Eventually(t, func() bool { n, _, _ := h.last(); return n > 0 }, wait, time.Millisecond)
	_, status, err := h.last()
	assert.Equal(t, componentstatus.StatusRecoverableError, status)
	require.ErrorContains(t, err, "tracefs")
	require.NoError(t, syscall.Mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, ""))
	require.Eventually(t, func() bool { _, status, _ := h.last(); return status == componentstatus.StatusOK }, wait, time.Millisecond)
	require.NoError(t, r.Shutdown(context.Background()))
}
