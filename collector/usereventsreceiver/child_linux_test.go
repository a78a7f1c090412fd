package usereventsreceiver

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/uevents"
)

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
