package uevents_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

const childNoFile = "UEVENTS_TEST_NOFILE"

// TestOutOfDescriptors: what fails for want of descriptors works as soon as there are some.
// The limit is a process's, so the test runs in one of its own.
func TestOutOfDescriptors(t *testing.T) {
	if os.Getenv(childNoFile) != "" {
		require.NoError(t, runOutOfDescriptors())
		return
	}
	kerneltest.Require(t)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), childNoFile+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "the next Open worked")
}

func runOutOfDescriptors() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	// Every number of descriptors that may be left, from none to enough.
	for left := range uint64(5) {
		first, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		_ = syscall.Close(first)
		low := limit
		low.Cur = uint64(first) + left
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
			return err
		}
		p, openErr := uevents.Open(nil)
		if openErr != nil && !errors.Is(openErr, syscall.EMFILE) {
			return openErr
		}
		if left == 0 && openErr == nil {
			return errors.New("the limit was not reached")
		}
		if err := errors.Join(syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit), p.Close()); err != nil {
			return err
		}
		if p, err = uevents.Open(nil); err != nil {
			return fmt.Errorf("with %d descriptors left Open failed with %w, and after that: %w", left, openErr, err)
		}
		ev, err := p.Register(tracepoint.Declaration{Name: "ue_test_nofile"}, nil)
		if err := errors.Join(err, ev.Close(), p.Close()); err != nil {
			return err
		}
	}
	fmt.Println("the next Open worked")
	return nil
}
