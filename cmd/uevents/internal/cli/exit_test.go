package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/uevents"
)

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
		{fmt.Errorf("event: %w", uevents.ErrNotSupportedOnOS), exitNotSupported},
		{fmt.Errorf("perf: %w", errors.ErrUnsupported), exitNotSupported},
		{&uevents.Error{Op: "open", Err: syscall.EACCES}, exitNotPermitted},
		{fmt.Errorf("open: %w", syscall.EPERM), exitNotPermitted},
		{silentError{fmt.Errorf("%w", errLost)}, exitLost},
		{errors.Join(uevents.ErrNotSupported, fs.ErrPermission), exitNotPermitted},
	} {
		assert.Equal(t, c.want, exitCode(c.err), "%v", c.err)
	}
}
