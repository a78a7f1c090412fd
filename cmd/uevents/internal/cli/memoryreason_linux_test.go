//go:build !386 && !arm && !mips && !mipsle

package cli

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/uevents"
)

// TestReason: why a program uses shared memory, as far as its files tell.
func TestReason(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "root", cmp.Or(uevents.Probe(kernelOnly).DataFile, tracefs.DefaultDir+"/"+tracefs.DataFile))
	assert.Equal(t, "the kernel has no user_events", reasonOf(dir, uevents.ErrNotSupported))
	assert.Equal(t, "it sees no tracefs with user_events", reasonOf(dir, fs.ErrPermission))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	want := "it may not write user_events_data"
	if os.Geteuid() == 0 {
		want = "it asked for memory, or may not write user_events_data"
	}
	assert.Equal(t, want, reasonOf(dir, fs.ErrPermission))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "environ"), []byte("A=b\x00USER_EVENTS_TRANSPORT=memory\x00"), 0o600))
	assert.Equal(t, "USER_EVENTS_TRANSPORT=memory", reasonOf(dir, fs.ErrPermission))
}
