//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	require.Eventually(t, func() bool { return signal.Ignored(syscall.SIGHUP) }, 10*time.Second, time.Millisecond)
	hangup()

	// It is ignored now, as nohup does.
	ctx, stop = untilSignal()
	defer stop()
	hangup()
	time.Sleep(50 * time.Millisecond)
	assert.NoError(t, ctx.Err())
}
