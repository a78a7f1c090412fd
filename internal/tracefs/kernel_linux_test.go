package tracefs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

var names atomic.Uint32

// newName returns a name that no other test uses: kernels before 6.4 keep every event.
func newName() string { return fmt.Sprintf("tracefs_test_%d_%d", os.Getpid(), names.Add(1)) }

func declaration(t *testing.T) tracepoint.Declaration {
	return parse(t, newName()+" u32 a; __rel_loc char[] b; struct point p 8; char[16] id; unsigned int n")
}

// remove removes an event, when the kernel lets go of it.
func remove(t *testing.T, tfs *tracefs.Dir, name string) {
	t.Helper()
	testscale.Eventually(t, func() bool { return tfs.Remove(name) == nil }, "the kernel does not let go of %s", name)
}

// status returns what user_events_status says of an event.
func status(t *testing.T, tfs *tracefs.Dir, name string) tracefs.EventStatus {
	t.Helper()
	st, err := tfs.Status()
	require.NoError(t, err)
	assert.Len(t, st.Events, st.Active)
	for _, e := range st.Events {
		if e.Name == name {
			return e
		}
	}
	require.Fail(t, "not listed", name)
	return tracefs.EventStatus{}
}

func TestCreateAndRemove(t *testing.T) {
	tfs := kerneltest.Require(t)
	d := declaration(t)
	require.NoError(t, tfs.Create(d))
	require.NoError(t, tfs.Create(d), "again")
	exists, err := tfs.Event(d.Name).Exists()
	require.NoError(t, err)
	assert.True(t, exists)
	all, err := tfs.Declarations()
	require.NoError(t, err)
	assert.Contains(t, all, d)
	format, err := tfs.Event(d.Name).FormatText()
	require.NoError(t, err)
	assert.Contains(t, format, "field:u32 a;\toffset:8;\tsize:4;")

	assert.Empty(t, status(t, tfs, d.Name).UsedBy)
	require.NoError(t, tfs.Event(d.Name).Enable())
	assert.Equal(t, []string{"ftrace"}, status(t, tfs, d.Name).UsedBy)
	assert.ErrorIs(t, tfs.Remove(d.Name), syscall.EBUSY, "a tool is attached")
	require.NoError(t, tfs.Event(d.Name).Disable())
	assert.Empty(t, status(t, tfs, d.Name).UsedBy)
	remove(t, tfs, d.Name)
	exists, err = tfs.Event(d.Name).Exists()
	require.NoError(t, err)
	assert.False(t, exists)
	assert.ErrorIs(t, tfs.Remove(d.Name), fs.ErrNotExist)
	assert.ErrorIs(t, tfs.Event(d.Name).Enable(), fs.ErrNotExist)
	_, err = tfs.Event(d.Name).FormatText()
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestCreateConflict(t *testing.T) {
	tfs := kerneltest.Require(t)
	d := parse(t, newName()+" u32 a")
	require.NoError(t, tfs.Create(d))
	defer remove(t, tfs, d.Name)
	for _, fields := range []string{"", " u64 a", " u32 b", " u32 a; u32 b"} {
		assert.ErrorIs(t, tfs.Create(parse(t, d.Name+fields)), syscall.EADDRINUSE, "%q", fields)
		assert.ErrorIs(t, tfs.Restore(strings.NewReader("u:"+d.Name+fields+"\n")), syscall.EADDRINUSE, "%q", fields)
	}
	all, err := tfs.Declarations()
	require.NoError(t, err)
	assert.Contains(t, all, d, "unchanged")
}

// TestSaveAndRestore: Restore after Save is the identity, also for what this library would
// not register.
func TestSaveAndRestore(t *testing.T) {
	tfs := kerneltest.Require(t)
	prefix := newName()
	var listing strings.Builder
	for _, c := range []string{
		"_plain", "_fields u32 a; __rel_loc char[] b; struct point p 8; char[16] id; unsigned char c; __data_loc char[] d",
		"-with-dashes u8 a", ".and.dots __rel_loc u64[] p; char[0x10] x", "_repeated u8 a; u8 a",
	} {
		listing.WriteString("u:" + prefix + c + "\n")
	}
	// Rows of all user events except those that other tests, in other processes, have now.
	save := func() (mine []string, all string) {
		var b bytes.Buffer
		require.NoError(t, tfs.Save(&b))
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "u:"+prefix) {
				mine = append(mine, line)
			}
		}
		return mine, b.String()
	}
	none, _ := save()
	require.Empty(t, none)
	require.NoError(t, tfs.Restore(strings.NewReader(listing.String())))
	saved, all := save()
	assert.ElementsMatch(t, strings.SplitAfter(strings.TrimSuffix(listing.String(), "\n"), "\n"),
		strings.SplitAfter(strings.TrimSuffix(strings.Join(saved, ""), "\n"), "\n"))
	require.NoError(t, tfs.Restore(strings.NewReader(all)), "what is there already")
	again, _ := save()
	assert.Equal(t, saved, again)

	removeAll := func() {
		for _, line := range saved {
			name, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "u:")), " ")
			require.NoError(t, tfs.Remove(name))
		}
		none, _ := save()
		require.Empty(t, none)
	}
	removeAll()
	require.NoError(t, tfs.Restore(strings.NewReader(strings.Join(saved, ""))), "what is gone")
	again, _ = save()
	assert.ElementsMatch(t, saved, again)
	removeAll()

	good := newName()
	err := tfs.Restore(strings.NewReader("u:" + prefix + "_bad what x\nu:" + good + "\n"))
	assert.ErrorIs(t, err, syscall.EINVAL)
	assert.ErrorContains(t, err, prefix+"_bad")
	exists, err := tfs.Event(good).Exists()
	require.NoError(t, err)
	assert.True(t, exists, "it goes on after an error")
	require.NoError(t, tfs.Remove(good))
}

// TestMultiFormat: the kernel lists events of several formats under one name.
func TestMultiFormat(t *testing.T) {
	tfs := kerneltest.Require(t)
	name := newName()
	for _, fields := range []string{" u32 a", " u64 a"} {
		kerneltest.MultiFormat(t, tfs, parse(t, name+fields))
	}
	single := parse(t, name+" u8 a")
	require.NoError(t, tfs.Create(single))
	all, err := tfs.Declarations()
	require.NoError(t, err)
	for _, fields := range []string{" u32 a", " u64 a", " u8 a"} {
		assert.Contains(t, all, parse(t, name+fields))
	}
	var saved bytes.Buffer
	require.NoError(t, tfs.Save(&saved))
	assert.Equal(t, 1, strings.Count(saved.String(), "u:"+name), saved.String())
	assert.Contains(t, saved.String(), "u:"+single.String()+"\n")

	assert.ErrorIs(t, tfs.Remove(name), syscall.EBUSY, "the program has two of them")
	exists, err := tfs.Event(name).Exists()
	require.NoError(t, err)
	assert.False(t, exists, "the third is gone")
	saved.Reset()
	require.NoError(t, tfs.Save(&saved))
	assert.NotContains(t, saved.String(), "u:"+name)
}

// TestCreatedBeforeProgram attaches to an event that no program has registered yet.
func TestCreatedBeforeProgram(t *testing.T) {
	tfs := kerneltest.Require(t)
	d := declaration(t)
	require.NoError(t, tfs.Create(d))
	require.NoError(t, tfs.Event(d.Name).Enable())
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	ev, err := p.Register(d, nil)
	require.NoError(t, err)
	assert.True(t, ev.Enabled(), "from the first moment")
	assert.Equal(t, []string{"ftrace"}, status(t, tfs, d.Name).UsedBy)
	perf := kerneltest.AttachPerf(t, tfs, d.Name)
	assert.Equal(t, []string{"ftrace", "perf"}, status(t, tfs, d.Name).UsedBy)
	perf.Detach()
	require.NoError(t, tfs.Event(d.Name).Disable())
	assert.False(t, ev.Enabled())
	err = tfs.Remove(d.Name)
	assert.ErrorIs(t, err, syscall.EBUSY, "the program has it")
	assert.ErrorContains(t, err, "end the programs that registered it")
	require.NoError(t, p.Close())
	remove(t, tfs, d.Name)
}

func TestFind(t *testing.T) {
	kerneltest.Require(t)
	tfs, err := tracefs.Find()
	require.NoError(t, err)
	assert.Equal(t, tracefs.DefaultDir, tfs.Path())
	assert.Equal(t, "/sys/kernel/tracing/events/user_events/x/enable", tfs.Event("x").Path("enable"))

	// What this machine's own files say can be parsed.
	f, err := os.Open("/proc/self/mountinfo")
	require.NoError(t, err)
	defer f.Close()
	mounts, err := tracefs.ParseMounts(f)
	require.NoError(t, err)
	assert.NotEmpty(t, mounts)
	st, err := tfs.Status()
	require.NoError(t, err)
	decls, err := tfs.Declarations()
	require.NoError(t, err)
	assert.Len(t, decls, st.Active)
}

// TestDirWithoutEvents tells an event that is not there from a tracefs that is not there.
func TestDirWithoutEvents(t *testing.T) {
	tfs := kerneltest.Require(t)
	_, err := tfs.Event(newName()).Exists()
	require.NoError(t, err)
	_, err = tracefs.At(tfs.Path("instances")).Event("x").Exists()
	assert.True(t, errors.Is(err, fs.ErrNotExist), "%v", err)
}
