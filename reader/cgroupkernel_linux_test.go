package reader_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

const envCgroupChild = "USEREVENTS_TEST_CGROUP_CHILD"

// TestContainerOfShortProcess: a process that has written one record and is gone, with its container, when that is read has the id of this
// container, and the uid of its pod.
func TestContainerOfShortProcess(t *testing.T) {
	declaration := tracepoint.MustParse("short_process u32 a")
	register := func() *uevents.Event {
		p, err := uevents.Open(nil)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, p.Close()) })
		ev, err := p.Register(declaration, &uevents.EventOptions{Naming: uevents.NameExact})
		require.NoError(t, err)
		return ev
	}
	if os.Getenv(envCgroupChild) != "" {
		_, err := register().WriteRecord(make([]byte, uevents.IndexSize+4))
		require.NoError(t, err)
		return
	}
	fs := kerneltest.Require(t)
	root := t.TempDir()
	require.NoError(t, syscall.Mount("cgroup2", root, "cgroup2", 0, ""))
	t.Cleanup(func() { assert.NoError(t, syscall.Unmount(root, 0)) })
	control := filepath.Join(root, "cgroup.subtree_control")
	require.NoError(t, os.WriteFile(control, []byte("+memory"), 0))
	t.Cleanup(func() { assert.NoError(t, os.WriteFile(control, []byte("-memory"), 0)) })

	register()
	r, err := reader.Open(&reader.Options{Tracefs: fs.Path(), Events: []string{"short_process"}, CgroupID: true})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })

	const uid = "8dbc5577-d0e2-4706-8787-57d52c03ddf2"
	id := strings.Repeat("0123456789abcdef", 4)
	pod := filepath.Join(root, "pod"+uid)
	require.NoError(t, os.MkdirAll(filepath.Join(pod, id), 0o755))
	group, err := os.Open(filepath.Join(pod, id))
	require.NoError(t, err)
	child := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), envCgroupChild+"=1")
	child.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
	output, err := child.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NoError(t, group.Close())
	require.NoError(t, os.Remove(filepath.Join(pod, id)))
	require.NoError(t, os.Remove(pod))

	require.NoError(t, r.Stop())
	var ev reader.Event
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, child.Process.Pid, int(ev.PID))
	assert.NotZero(t, ev.CgroupID)
	assert.Equal(t, "/pod"+uid+"/"+id, ev.Process.Cgroup)
	assert.Equal(t, []string{id, uid}, []string{ev.Process.ContainerID, ev.Process.PodUID})
	assert.ErrorIs(t, r.Next(&ev), io.EOF)
}
