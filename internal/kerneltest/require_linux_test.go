package kerneltest

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/uevents"
)

// TestVerdict: a skip must be justified.
func TestVerdict(t *testing.T) {
	const unknown = "it could not be told whether this machine has user_events"
	for _, c := range []struct {
		err    error
		native string
	}{
		{nil, ""},
		{uevents.ErrNotSupported, skip},
		{uevents.ErrNotSupportedOnOS, skip},
		{fmt.Errorf("open: %w", fs.ErrPermission), skip},
		{fmt.Errorf("open: %w", fs.ErrNotExist), skip},
		{&uevents.Error{Op: "open", Err: fmt.Errorf("%w: %w", uevents.ErrNotSupported, syscall.ENOENT)}, skip},
		{errors.New("could not tell"), unknown},
		{&uevents.Error{Op: "open", Err: syscall.EROFS}, unknown},
		{fmt.Errorf("open: %w", syscall.EMFILE), unknown},
	} {
		assert.Equal(t, c.native, verdict(c.err, false), "%v", c.err)
		assert.Equal(t, c.err == nil, verdict(c.err, true) == "", "in a guest nothing is skipped: %v", c.err)
		assert.NotEqual(t, skip, verdict(c.err, true))
	}
}
