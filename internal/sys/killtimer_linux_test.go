package sys_test

import (
	"math"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/sys"
)

const envKillTimer = "USER_EVENTS_TEST_KILL_TIMER"

// TestKillTimer: the timer ends a process that has stopped itself, and not its child; a timer that was stopped ends none.
func TestKillTimer(t *testing.T) {
	if os.Getenv(envKillTimer) != "" {
		child := exec.Command("cat") // until the end of its input
		child.Stdin, child.Stdout = os.Stdin, os.Stdout
		require.NoError(t, child.Start())
		_, err := sys.NewKillTimer(time.Millisecond)
		require.NoError(t, err)
		for {
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		}
	}
	for _, d := range []time.Duration{time.Hour, math.MaxInt64} {
		stopped, err := sys.NewKillTimer(d)
		require.NoError(t, err)
		require.NoError(t, stopped.Stop())
		assert.ErrorIs(t, stopped.Stop(), syscall.EINVAL, "there is none")
	}

	cmd := exec.Command(os.Args[0], "-test.run=^TestKillTimer$")
	cmd.Env = append(os.Environ(), envKillTimer+"=1")
	input, feed, err := os.Pipe()
	require.NoError(t, err)
	answer, output, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdin, cmd.Stdout = input, output
	require.NoError(t, cmd.Start())
	require.NoError(t, input.Close())
	require.NoError(t, output.Close())
	_ = cmd.Wait() // the status has the reason
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	assert.Equal(t, syscall.SIGKILL, status.Signal(), "%v", cmd.ProcessState)
	_, err = feed.WriteString("alive")
	require.NoError(t, err)
	require.NoError(t, feed.Close())
	got := make([]byte, 5)
	_, err = answer.Read(got)
	require.NoError(t, err)
	assert.Equal(t, "alive", string(got))
	require.NoError(t, answer.Close())
}
