package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/uevents"
)

// TestMessageOf: the remedy of an error is on a line of its own, wherever the error has it.
func TestMessageOf(t *testing.T) {
	cause := &uevents.Error{Op: "open", Name: "/x/user_events_data", Err: fs.ErrNotExist, Remedy: "mount it"}
	for _, c := range []struct {
		err             error
		message, remedy string
	}{
		{cause, "open /x/user_events_data: file does not exist", "mount it"},
		{fmt.Errorf("setup: %w", cause), "setup: open /x/user_events_data: file does not exist", "mount it"},
		{hintError{cause, "see there"}, "open /x/user_events_data: file does not exist (mount it)", "see there"},
		{errors.New("x"), "x", ""},
	} {
		message, remedy := messageOf(c.err)
		assert.Equal(t, []string{c.message, c.remedy}, []string{message, remedy})
	}
}

func TestExitCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, exitOK},
		{errors.New("other"), exitError},
		{fs.ErrNotExist, exitError},
		{syscall.EADDRINUSE, exitError},
		{usageError{errors.New("wrong")}, exitUsage},
		{fmt.Errorf("event: %w", uevents.ErrNotSupported), exitNotSupported},
		{fmt.Errorf("perf: %w", errors.ErrUnsupported), exitNotSupported},
		{&uevents.Error{Op: "open", Err: syscall.EACCES}, exitNotPermitted},
		{fmt.Errorf("open: %w", syscall.EPERM), exitNotPermitted},
		{silentError{fmt.Errorf("%w", errLost)}, exitLost},
		{errors.Join(uevents.ErrNotSupported, fs.ErrPermission), exitNotSupported}, // permission would not help
	} {
		assert.Equal(t, c.want, exitCode(c.err), "%v", c.err)
	}
}

// TestHintForOpen: the remedy is that of the call that failed.
func TestHintForOpen(t *testing.T) {
	hint := func(call string) string {
		h, _ := errors.AsType[hintError](hintForOpen(fmt.Errorf("reader: %w", os.NewSyscallError(call, syscall.EPERM))))
		return h.hint
	}
	assert.Contains(t, hint("perf_event_open"), "setcap cap_perfmon+ep")
	assert.Contains(t, hint("open"), "files of tracefs")
	assert.Empty(t, hint("mmap"), "the error has the remedy")
}
