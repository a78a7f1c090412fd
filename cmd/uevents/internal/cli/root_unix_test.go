//go:build unix

package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/syncbuffer"
)

// TestHangup: a terminal that is closed ends a command in good order, also if the shell says so a second time, unless the command
// was started to survive it.
func TestHangup(t *testing.T) {
	hangup := func() {
		t.Helper()
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	}
	reset := func() { // Reset alone leaves it ignored
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGHUP)
		signal.Stop(signals)
	}
	reset()
	defer reset()
	ctx, stop := untilSignal()
	defer stop()
	hangup()
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Fatal("the command goes on")
	}
	assert.Equal(t, endedBy{syscall.SIGHUP}, context.Cause(ctx))
	require.Eventually(t, func() bool { return signal.Ignored(syscall.SIGHUP) }, 10*time.Second, time.Millisecond)
	hangup()

	// It is ignored now, as nohup does.
	ctx, stop = untilSignal()
	defer stop()
	hangup()
	time.Sleep(50 * time.Millisecond)
	assert.NoError(t, ctx.Err())
}

// TestChildSecondSignal: a second signal goes to the command, too, and does not end record before it.
func TestChildSecondSignal(t *testing.T) {
	survive := make(chan os.Signal, 1) // else a signal ends the test where record does not catch it
	signal.Notify(survive, os.Interrupt)
	defer signal.Stop(survive)
	var out, errs syncbuffer.Buffer
	ctx, cancel := context.WithCancelCause(t.Context())
	const command = "trap 'echo INT' INT; echo ready; until [ -e %s ]; do sleep 0.02; done; exit 3"
	end := filepath.Join(t.TempDir(), "end")
	child, err := (&feed{}).env(t, &out, &errs).startChild(ctx, []string{"sh", "-c", fmt.Sprintf(command, end)}, func() {})
	require.NoError(t, err)
	says := func(want string) {
		t.Helper()
		require.Eventually(t, func() bool { return strings.HasPrefix(out.String(), want) }, time.Minute, time.Millisecond)
	}
	says("ready\n")
	cancel(endedBy{os.Interrupt})
	says("ready\nINT\n")
	require.Eventually(t, func() bool {
		require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGINT))
		return strings.HasPrefix(out.String(), "ready\nINT\nINT\n")
	}, time.Minute, 50*time.Millisecond)
	require.NoError(t, os.WriteFile(end, nil, 0o600))
	assert.Equal(t, commandError{3}, child.wait())
}

// TestForeground: the foreground of a terminal is that of the process group, whatever the name of the program.
func TestForeground(t *testing.T) {
	for stat, want := range map[string]bool{
		"7 (a) S 1 7 7 34816 7 4194304":      true,
		"7 (a) S 1 7 7 34816 9 4194304":      false,
		"7 (a) S 1 7 7 0 -1 4194304":         false,
		"7 (a) S 1 0 0 0 0 4194304":          false,
		"7 (a) 1 1) S 1 7 7 34816 7 4194304": true,
		"7 (a) S 1 7 7":                      false,
		"":                                   false,
	} {
		assert.Equal(t, want, isForeground(stat), stat)
	}
}

// TestChildSignal: a signal that ends record ends its command, too. Only an interrupt in a terminal has reached the command
// already.
func TestChildSignal(t *testing.T) {
	const command = "trap 'echo INT; exit' INT; trap 'echo TERM; exit' TERM; echo ready; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.05; done; echo none"
	for _, c := range []struct {
		signal     syscall.Signal
		foreground bool
		want       string
	}{
		{syscall.SIGINT, false, "INT"}, {syscall.SIGTERM, false, "TERM"}, {syscall.SIGINT, true, "none"}, {syscall.SIGTERM, true, "TERM"},
	} {
		var out, errs syncbuffer.Buffer
		e := (&feed{}).env(t, &out, &errs)
		e.foreground = func() bool { return c.foreground }
		ctx, cancel := context.WithCancelCause(t.Context())
		child, err := e.startChild(ctx, []string{"sh", "-c", command}, func() {})
		require.NoError(t, err)
		require.Eventually(t, func() bool { return out.String() == "ready\n" }, 10*time.Second, time.Millisecond)
		cancel(endedBy{c.signal})
		assert.NoError(t, child.wait())
		assert.Equal(t, "ready\n"+c.want+"\n", out.String(), "%v, foreground %v: %s", c.signal, c.foreground, &errs)
	}
}
