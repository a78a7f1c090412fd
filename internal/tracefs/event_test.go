package tracefs_test

import (
	"fmt"
	"io/fs"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/tracefs"
)

func TestEventNames(t *testing.T) {
	tfs := tracefs.At("/t")
	for name, want := range map[string]string{
		"one":                        "/t/events/user_events/one/id",
		"user_events_multi:one.1f":   "/t/events/user_events_multi/one.1f/id",
		"sched:sched_switch":         "/t/events/sched/sched_switch/id",
		"user_events:with:more:cuts": "/t/events/user_events/with:more:cuts/id",
	} {
		assert.Equal(t, want, tfs.Event(name).Path("id"))
	}
	e := tfs.Event("one")
	assert.Equal(t, "user_events:one", e.String())
	assert.Equal(t, "user_events", e.System())
	assert.Equal(t, "one", e.Name())
}

// TestNamesStayInside: no name leads to a file of another directory.
func TestNamesStayInside(t *testing.T) {
	tfs := newDir(t, map[string]string{"events/user_events/one/enable": "0", "events/enable": "0", "instances/own/trace": ""})
	for _, name := range []string{"", ".", "..", "../user_events/one", "a/b", "..:one", ":one", "one:", "x\x00"} {
		e := tfs.Event(name)
		assert.ErrorIs(t, e.Enable(), syscall.EINVAL, "%q", name)
		_, err := e.Exists()
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", name)
		_, err = e.FormatText()
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", name)
	}
	assert.Equal(t, "0", read(t, tfs, "events/enable"))
	for _, name := range []string{"", ".", "..", "../events", "a/b", "x\x00"} {
		_, err := tfs.NewInstance(name)
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", name)
		_, err = tfs.Instance(name)
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", name)
	}
}

// TestCommandsAreChecked: what the kernel would take for another command is refused before it is asked.
func TestCommandsAreChecked(t *testing.T) {
	const dir = "events/user_events/one/"
	tfs := newDir(t, map[string]string{dir + "filter": "none\n", dir + "trigger": "# Available triggers:\n"})
	e := tfs.Event("one")
	for _, filter := range []string{" ", "a > 1\nb > 2", "a\x00"} {
		assert.ErrorIs(t, e.SetFilter(filter), syscall.EINVAL, "%q", filter)
	}
	for _, trigger := range []string{"", " ", "!hist:keys=a", " !traceoff", "traceoff\ntraceon", "a\x00"} {
		assert.ErrorIs(t, e.AddTrigger(trigger), syscall.EINVAL, "%q", trigger)
		assert.ErrorIs(t, e.RemoveTrigger(trigger), syscall.EINVAL, "%q", trigger)
	}
	assert.Equal(t, "none\n", read(t, tfs, dir+"filter"))
	assert.Equal(t, "# Available triggers:\n", read(t, tfs, dir+"trigger"))
	filter, err := e.Filter()
	require.NoError(t, err)
	assert.Empty(t, filter)
	triggers, err := e.Triggers()
	require.NoError(t, err)
	assert.Empty(t, triggers)
	assert.ErrorIs(t, tfs.Event("two").SetFilter("a > 1"), fs.ErrNotExist)
}

// TestStaleErrorLog: an entry of error_log that an earlier command left is not attached to the error of another one with
// the same text.
func TestStaleErrorLog(t *testing.T) {
	const log = "[  100.000001] event filter parse error: error: Field not found\n  Command: nope == 1\n           ^\n"
	tfs := newDir(t, map[string]string{"error_log": log})
	for name, run := range map[string]func(string) error{
		"SetFilter": tfs.Event("gone").SetFilter, "AddTrigger": tfs.Event("gone").AddTrigger, "RemoveTrigger": tfs.Event("gone").RemoveTrigger,
	} {
		err := run("nope == 1")
		require.ErrorIs(t, err, fs.ErrNotExist, name)
		assert.NotContains(t, err.Error(), "Field not found", name)
	}
}

// TestFailedFilter: the kernel drops the filter that was set when it refuses another one, and prints the error in its place.
func TestFailedFilter(t *testing.T) {
	for _, text := range []string{"nope > 5\n     ^\nparse_error: Field not found\n", "none\n", ""} {
		tfs := newDir(t, map[string]string{"events/user_events/one/filter": text})
		filter, err := tfs.Event("one").Filter()
		require.NoError(t, err)
		assert.Empty(t, filter, "%q", text)
	}
}

// TestBufferStatsOfOneInstance: names of instances may have characters that are special in patterns.
func TestBufferStatsOfOneInstance(t *testing.T) {
	files := map[string]string{}
	names := []string{"a*", "a[", "ab", `a\b`, "a?"}
	for n, name := range names {
		for _, cpu := range []string{"cpu0", "cpu1"} {
			files["instances/"+name+"/per_cpu/"+cpu+"/stats"] = fmt.Sprintf("entries: %d\noverrun: 1\ncommit overrun: 2\nbytes: 99\ndropped events: 3\nread events: 4\n", n)
		}
	}
	tfs := newDir(t, files)
	for n, name := range names {
		i, err := tfs.Instance(name)
		require.NoError(t, err)
		stats, err := i.BufferStats()
		require.NoError(t, err, name)
		assert.Equal(t, tracefs.BufferStats{Entries: 2 * uint64(n), Overrun: 2, CommitOverrun: 4, Dropped: 6, Read: 8}, stats, name)
	}
	_, err := newDir(t, nil).Top().BufferStats()
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = newDir(t, map[string]string{"per_cpu/cpu0/stats": "entries: many\n"}).Top().BufferStats()
	assert.ErrorIs(t, err, strconv.ErrSyntax)
}
