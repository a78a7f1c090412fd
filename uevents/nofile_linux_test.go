package uevents_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

const childNoFile = "USER_EVENTS_TEST_NOFILE"

// TestOutOfDescriptors: an Open that fails for want of descriptors works as soon as there are
// some. The limit is a process's, and so is what a failure could leave behind: each number of
// descriptors that may be left, from none to enough, has a process in which it comes first.
func TestOutOfDescriptors(t *testing.T) {
	if left := os.Getenv(childNoFile); left != "" {
		n, err := strconv.ParseUint(left, 10, 64)
		require.NoError(t, err)
		require.NoError(t, openWith(n))
		return
	}
	kerneltest.Require(t)
	exe, err := os.Executable()
	require.NoError(t, err)
	for left := range 5 {
		cmd := exec.Command(exe, "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), childNoFile+"="+strconv.Itoa(left))
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, "%s", out)
		assert.Contains(t, string(out), "the next Open worked", "with %d descriptors left", left)
	}
}

// openWith opens a provider while the process may have only so many descriptors more, and
// again without that limit.
func openWith(left uint64) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
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
	fmt.Println("the next Open worked")
	return nil
}
