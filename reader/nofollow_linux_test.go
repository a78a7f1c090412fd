//go:build !386 && !arm && !mips && !mipsle

package reader

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
)

// TestNoFollowRefused: a Reader that follows nothing, and finds no event in shared memory, has nothing to read, also if the kernel refuses
// to list its events. The error says so. One that follows waits.
func TestNoFollowRefused(t *testing.T) {
	testscale.HostOnly(t)
	denied := &fs.PathError{Op: "open", Path: "user_events_status", Err: fs.ErrPermission}
	for _, refused := range []error{denied, fs.ErrNotExist, errors.ErrUnsupported} {
		for _, noFollow := range []bool{true, false} {
			r, err := newReader(&Options{Events: []string{"nofollow_none"}, NoFollow: noFollow}, "/proc")
			require.NoError(t, err)
			r.session, err = r.withMemory(nil)
			require.NoError(t, err)
			err = r.start(false, refused)
			if !noFollow {
				require.NoError(t, err)
				require.NoError(t, r.Close())
				continue
			}
			assert.ErrorIs(t, err, fs.ErrNotExist)
			if errors.Is(refused, denied) {
				assert.ErrorIs(t, err, fs.ErrPermission)
				assert.EqualError(t, err, "no event matches nofollow_none; the kernel's events are not read: "+denied.Error())
			} else {
				assert.EqualError(t, err, "no event matches nofollow_none")
			}
		}
	}
}
