package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/perfaccess"
	"github.com/userevents/userevents-go/reader"
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

// TestHintForOpen: the remedy is that of the call that failed, with the path of this program, once.
func TestHintForOpen(t *testing.T) {
	said := func(err error) (message, remedy string) { return messageOf(hintForOpen(fmt.Errorf("reader: %w", err))) }
	call := func(name string) error { return os.NewSyscallError(name, syscall.EPERM) }
	message, remedy := said(&perfaccess.Error{Err: call("perf_event_open"), Process: perfaccess.Process{Paranoid: 4}})
	assert.Equal(t, "perf_event_open: operation not permitted (no CAP_PERFMON, and kernel.perf_event_paranoid is 4)", message)
	assert.Regexp(t, `^sudo setcap cap_perfmon\+ep `+regexp.QuoteMeta(self())+"\n(?s:.*)\nor run it as root; or let a group ", remedy)
	_, remedy = said(call("open"))
	assert.Contains(t, remedy, "files of tracefs")
	_, remedy = said(call("mmap"))
	assert.Empty(t, remedy, "the error has the remedy")

	// The kernel refuses to list its events, which it has or not.
	none := reader.NoMatchError{Patterns: []string{"a", "b"}, Kernel: call("open")}
	defer func(o *uevents.Options) { kernelOnly = o }(kernelOnly)
	for _, has := range []bool{true, false} {
		kernelOnly = &uevents.Options{Transport: 99} // it cannot be told
		if !has {
			kernelOnly.Transport = uevents.TransportOff
		}
		message, remedy = said(none)
		want, hint, code := "no event matches a, b; the kernel's events are not read: open: operation not permitted", "files of tracefs belong to root", exitNotPermitted
		if !has {
			want, hint, code = "no event matches a, b", "see uevents list", exitError
		}
		assert.Equal(t, want, message)
		assert.Contains(t, remedy, hint)
		assert.Equal(t, code, exitCode(hintForOpen(none)))
	}
}
