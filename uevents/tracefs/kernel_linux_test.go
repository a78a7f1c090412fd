package tracefs_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

func declaration(t *testing.T) tracepoint.Declaration {
	d, err := tracepoint.Parse(fmt.Sprintf("tracefs_test_%d u32 a; __rel_loc char[] b; struct point p 8; char[16] id", time.Now().UnixNano()))
	require.NoError(t, err)
	return d
}

func TestCreateAndRemove(t *testing.T) {
	tfs := kerneltest.Require(t)
	d := declaration(t)
	require.NoError(t, tfs.Create(d))
	require.NoError(t, tfs.Create(d), "again")
	exists, err := tfs.Exists(d.Name)
	require.NoError(t, err)
	assert.True(t, exists)
	all, err := tfs.Declarations()
	require.NoError(t, err)
	assert.Contains(t, all, d)
	format, err := tfs.Format(d.Name)
	require.NoError(t, err)
	assert.Contains(t, string(format), "field:u32 a;\toffset:8;\tsize:4;")

	require.NoError(t, tfs.Enable(d.Name, true))
	assert.ErrorIs(t, tfs.Remove(d.Name), syscall.EBUSY, "a tracer is attached")
	require.NoError(t, tfs.Enable(d.Name, false))
	require.Eventually(t, func() bool { return tfs.Remove(d.Name) == nil }, 10*time.Second, 10*time.Millisecond)
	exists, err = tfs.Exists(d.Name)
	require.NoError(t, err)
	assert.False(t, exists)
	assert.ErrorIs(t, tfs.Remove(d.Name), fs.ErrNotExist)
	assert.ErrorIs(t, tfs.Enable(d.Name, true), fs.ErrNotExist)
	_, err = tfs.Format(d.Name)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorIs(t, tfs.Create(tracepoint.Declaration{Name: "no/name"}), tracepoint.ErrInvalid)
}

func TestSaveAndRestore(t *testing.T) {
	tfs := kerneltest.Require(t)
	d := declaration(t)
	require.NoError(t, tfs.Create(d))
	var saved, again bytes.Buffer
	require.NoError(t, tfs.Save(&saved))
	require.NoError(t, tfs.Remove(d.Name))
	require.NoError(t, tfs.Restore(bytes.NewReader(saved.Bytes())))
	require.NoError(t, tfs.Save(&again))
	assert.ElementsMatch(t, strings.Split(saved.String(), "\n"), strings.Split(again.String(), "\n"))
	require.NoError(t, tfs.Remove(d.Name))
	err := tfs.Restore(strings.NewReader("u:" + d.Name + " long a\n" + "u:" + d.String() + "\n"))
	assert.ErrorIs(t, err, syscall.EINVAL, "a type that the kernel refuses")
	assert.ErrorContains(t, err, d.Name)
	require.NoError(t, tfs.Remove(d.Name), "the next event was made all the same")
}

// TestCreatedBeforeProgram attaches to an event that no program has registered yet.
func TestCreatedBeforeProgram(t *testing.T) {
	tfs := kerneltest.Require(t)
	d := declaration(t)
	require.NoError(t, tfs.Create(d))
	require.NoError(t, tfs.Enable(d.Name, true))
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	ev, err := p.Register(d, nil)
	require.NoError(t, err)
	assert.True(t, ev.Enabled(), "from the first moment")
	st, err := tfs.Status()
	require.NoError(t, err)
	found := false
	for _, e := range st.Events {
		if e.Name == d.Name {
			found = true
			assert.Equal(t, []string{"ftrace"}, e.UsedBy)
		}
	}
	assert.True(t, found)
	require.NoError(t, tfs.Enable(d.Name, false))
	require.NoError(t, p.Close())
	require.Eventually(t, func() bool { return tfs.Remove(d.Name) == nil }, 10*time.Second, 10*time.Millisecond)
}

func TestFind(t *testing.T) {
	kerneltest.Require(t)
	tfs, err := tracefs.Find()
	require.NoError(t, err)
	assert.Equal(t, tracefs.DefaultDir, tfs.Dir())
	assert.Equal(t, "/sys/kernel/tracing/events/user_events/x/enable", tfs.EnablePath("x"))
}
