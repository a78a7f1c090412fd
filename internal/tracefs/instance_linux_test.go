package tracefs_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// newInstance returns an instance that is removed with the test.
func newInstance(t *testing.T) (*tracefs.Dir, *tracefs.Instance) {
	t.Helper()
	tfs := kerneltest.Require(t)
	i, err := tfs.NewInstance(newName())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, i.Remove()) })
	return tfs, i
}

// publisher registers an event of a number and returns a function that writes it.
func publisher(t *testing.T, o *uevents.EventOptions) (*uevents.Event, func(status byte)) {
	t.Helper()
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	ev, err := p.Register(parse(t, newName()+" u8 status"), o)
	require.NoError(t, err)
	return ev, func(status byte) {
		_, err := ev.WriteRecord(append(make([]byte, uevents.IndexSize), status))
		require.NoError(t, err)
	}
}

// recordStart matches the start of each record's text, "TASK-PID [CPU] FLAGS TIME: ". Kernels before 6.4 print no name
// after it, but a hex dump.
var recordStart = regexp.MustCompile(`(?m)-\d+ +\[\d+\] \S+ +\d+\.\d+: `)

func TestInstance(t *testing.T) {
	tfs, i := newInstance(t)
	name := path.Base(i.Path())
	_, err := tfs.NewInstance(name)
	assert.ErrorIs(t, err, fs.ErrExist)
	names, err := tfs.Instances()
	require.NoError(t, err)
	assert.Contains(t, names, name)
	same, err := tfs.Instance(name)
	require.NoError(t, err)
	assert.Equal(t, i.Path(), same.Path())
	_, err = tfs.Instance(newName())
	assert.ErrorIs(t, err, fs.ErrNotExist)

	ev, write := publisher(t, nil)
	mine, shared := i.Event(ev.Name()), tfs.Event(ev.Name())
	require.NoError(t, mine.Enable())
	for event, want := range map[*tracefs.Event]bool{mine: true, shared: false} {
		on, err := event.Enabled()
		require.NoError(t, err)
		assert.Equal(t, want, on, "an instance has its own enable state")
	}
	require.NoError(t, os.WriteFile(i.Path("buffer_size_kb"), []byte("64"), 0))
	for n := range byte(3) {
		write(n)
	}
	text := kerneltest.ContentOf(t, i)
	assert.Len(t, recordStart.FindAllString(text, -1), 3, text)
	assert.Equal(t, kerneltest.BufferStats{Entries: 3}, kerneltest.StatsOf(t, i))

	for range 10_000 {
		write(5)
	}
	stats := kerneltest.StatsOf(t, i)
	assert.Positive(t, stats.Overrun)
	assert.EqualValues(t, 10_003, stats.Entries+stats.Overrun, "every record is there or counted as lost")
	require.NoError(t, mine.Disable())
	assert.False(t, ev.Enabled())
	assert.Error(t, tfs.Top().Remove())
}

// TestRemoveInstance: removing an instance detaches it from its events.
func TestRemoveInstance(t *testing.T) {
	tfs := kerneltest.Require(t)
	i, err := tfs.NewInstance(newName())
	require.NoError(t, err)
	ev, _ := publisher(t, nil)
	require.NoError(t, i.Event(ev.Name()).Enable())
	require.True(t, ev.Enabled())
	pipe, err := os.Open(i.Path("trace_pipe"))
	require.NoError(t, err)
	err = i.Remove()
	assert.ErrorIs(t, err, syscall.EBUSY)
	assert.ErrorContains(t, err, "end the programs that read its files")
	require.NoError(t, pipe.Close())
	require.NoError(t, i.Remove())
	assert.False(t, ev.Enabled())
	assert.ErrorIs(t, i.Remove(), fs.ErrNotExist)
	assert.ErrorIs(t, i.Event(ev.Name()).Enable(), fs.ErrNotExist)
}

func TestFilter(t *testing.T) {
	_, i := newInstance(t)
	ev, write := publisher(t, nil)
	e := i.Event(ev.Name())
	require.NoError(t, e.Enable())
	filter, err := e.Filter()
	require.NoError(t, err)
	assert.Empty(t, filter)
	require.NoError(t, e.SetFilter("status >= 50"))
	filter, err = e.Filter()
	require.NoError(t, err)
	assert.Equal(t, "status >= 50", filter)
	entries := func() uint64 { return kerneltest.StatsOf(t, i).Entries }
	write(49)
	write(50)
	assert.EqualValues(t, 1, entries())
	require.NoError(t, e.SetFilter("status < 50"), "replaced")
	write(49)
	write(50)
	assert.EqualValues(t, 2, entries())

	err = e.SetFilter("status >= 50 && nope == 1")
	require.ErrorIs(t, err, syscall.EINVAL)
	assert.ErrorContains(t, err, "Field not found")
	assert.ErrorContains(t, err, "nope")
	err = i.Event("gone").SetFilter("status >= 50 && nope == 1")
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.NotContains(t, err.Error(), "Field not found", "of another event")
	assert.ErrorContains(t, e.SetFilter("status >= 50 && nope == 1"), "Field not found", "again")
	err = e.SetFilter("status >=")
	require.ErrorIs(t, err, syscall.EINVAL)
	assert.NotContains(t, err.Error(), "Field not found", "of the filter before")
	for filter, problem := range map[string]string{
		"(status == 1": "Too many '('", "status == 1)": "Too few '('", "status == 1 && \"": "Missing matching quote",
	} {
		err := e.SetFilter(filter)
		assert.ErrorIs(t, err, syscall.EINVAL, "%q", filter) // the kernel returns -2, -1 and -3
		assert.NotErrorIs(t, err, fs.ErrNotExist, "%q", filter)
		assert.ErrorContains(t, err, problem, "%q", filter)
	}
	filter, err = e.Filter()
	require.NoError(t, err)
	assert.Empty(t, filter, "the kernel dropped the filter before")
	write(49)
	write(50)
	assert.EqualValues(t, 4, entries(), "nothing is filtered")
	require.NoError(t, e.SetFilter(""))
	require.NoError(t, e.SetFilter(""), "again")
	filter, err = e.Filter()
	require.NoError(t, err)
	assert.Empty(t, filter)
	write(50)
	assert.EqualValues(t, 5, entries())
}

func TestTriggers(t *testing.T) {
	_, i := newInstance(t)
	ev, write := publisher(t, nil)
	e := i.Event(ev.Name())
	triggers, err := e.Triggers()
	require.NoError(t, err)
	assert.Empty(t, triggers)
	const hist = "hist:keys=status"
	require.NoError(t, e.AddTrigger(hist))
	assert.ErrorIs(t, e.AddTrigger(hist), syscall.EEXIST)
	assert.True(t, ev.Enabled(), "a trigger alone enables the event")
	on, err := e.Enabled()
	require.NoError(t, err)
	assert.False(t, on)
	write(7)
	write(7)
	text, err := e.Hist()
	require.NoError(t, err)
	assert.Regexp(t, `status: +7 \} hitcount: +2`, text)
	triggers, err = e.Triggers()
	require.NoError(t, err)
	require.Len(t, triggers, 1)
	assert.Contains(t, triggers[0], hist)

	err = e.AddTrigger("hist:keys=nope")
	require.ErrorIs(t, err, syscall.EINVAL)
	assert.ErrorContains(t, err, `Couldn't find field`)
	assert.ErrorContains(t, err, `at byte 11 of "hist:keys=nope"`)

	require.NoError(t, e.SetFilter("status >= 50"))
	write(7)
	text, err = e.Hist()
	require.NoError(t, err)
	assert.Regexp(t, `status: +7 \} hitcount: +3`, text, "a trigger has no part in the filter")
	const conditional = "hist:keys=status if status >= 50"
	require.NoError(t, e.RemoveTrigger(triggers[0]), "as it was listed")
	require.NoError(t, e.AddTrigger(conditional))
	write(7)
	write(50)
	text, err = e.Hist()
	require.NoError(t, err)
	assert.NotRegexp(t, `status: +7 `, text)
	assert.Regexp(t, `status: +50 \} hitcount: +1`, text)
	triggers, err = e.Triggers()
	require.NoError(t, err)
	require.Len(t, triggers, 1)

	require.NoError(t, e.RemoveTrigger(triggers[0]), "as it was listed")
	triggers, err = e.Triggers()
	require.NoError(t, err)
	assert.Empty(t, triggers)
	assert.False(t, ev.Enabled())
}

// TestMultiFormatEvent: the tracepoint of an event in user_events_multi serves like any other.
func TestMultiFormatEvent(t *testing.T) {
	tfs, i := newInstance(t)
	d := parse(t, newName()+" u8 status")
	write := kerneltest.MultiFormat(t, tfs, d)
	name := kerneltest.OnlyFormat(t, tfs, d.Name)
	e := i.Event(tracepoint.MultiSystem + ":" + name)
	require.NoError(t, e.Enable())
	write(1)
	text := kerneltest.ContentOf(t, i)
	assert.Contains(t, text, name+":")
	format, err := e.Format()
	require.NoError(t, err)
	assert.Equal(t, name, format.Name)
	require.NoError(t, e.Disable())
}
