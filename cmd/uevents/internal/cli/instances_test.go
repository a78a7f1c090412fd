package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/tracefs"
)

// TestDeadInstances: instances of processes that are gone are removed, also if another process has their id now, and none of
// processes that cannot be seen from here.
func TestDeadInstances(t *testing.T) {
	proc, fs := t.TempDir(), t.TempDir()
	own := strconv.Itoa(os.Getpid())
	for pid, start := range map[string]string{own: "300", "7": "100", "8": "200"} {
		require.NoError(t, os.MkdirAll(filepath.Join(proc, pid, "ns"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(proc, pid, "stat"), []byte(pid+" (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 "+start+" 20\n"), 0o600))
		require.NoError(t, os.Symlink("pid:[42]", filepath.Join(proc, pid, "ns", "pid")))
	}
	require.NoError(t, os.Symlink(own, filepath.Join(proc, "self")))
	name, err := instanceName("hist", proc)
	require.NoError(t, err)
	assert.Equal(t, "uevents_hist_"+own+"_300_42", name)

	dead := []string{"uevents_hist_8_100_42", "uevents_doctor_9_1_42"}
	kept := []string{name, "uevents_hist_7_100_42", "uevents_doctor_7_100_42", "uevents_hist_8_100_43", "uevents_hist_x", "uevents_hist_9_1", "other"}
	for _, name := range append(dead, kept...) {
		require.NoError(t, os.MkdirAll(filepath.Join(fs, "instances", name), 0o700))
	}
	left := func() []string {
		removeDeadInstances(tracefs.At(fs), proc)
		left, err := tracefs.At(fs).Instances()
		require.NoError(t, err)
		return left
	}

	// A container can have the proc of its host, in which other processes have these ids.
	require.NoError(t, os.Remove(filepath.Join(proc, "self")))
	require.NoError(t, os.Symlink("7", filepath.Join(proc, "self")))
	assert.ElementsMatch(t, append(dead, kept...), left())
	require.NoError(t, os.Remove(filepath.Join(proc, "self")))
	require.NoError(t, os.Symlink(own, filepath.Join(proc, "self")))
	assert.ElementsMatch(t, kept, left())

	_, err = instanceName("hist", t.TempDir())
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// TestOwnInstance: the names of a running process's instances say that it runs.
func TestOwnInstance(t *testing.T) {
	if _, err := os.Stat("/proc/self/ns/pid"); err != nil {
		t.Skip("not on this kernel: no namespaces: ", err)
	}
	name, err := instanceName("doctor", "/proc")
	require.NoError(t, err)
	assert.Regexp(t, fmt.Sprintf(`^uevents_doctor_%d_\d+_\d+$`, os.Getpid()), name)
	fs := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(fs, "instances", name), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Join(fs, "instances", name+"0"), 0o700), "of another namespace")
	removeDeadInstances(tracefs.At(fs), "/proc")
	left, err := tracefs.At(fs).Instances()
	require.NoError(t, err)
	assert.Len(t, left, 2)
}
