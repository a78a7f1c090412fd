package kerneltest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/sys/systest"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// Record is one record that a tracing tool read.
type Record struct {
	Event   string
	CPU     int
	Time    uint64 // ns; of an Instance: a number that orders the records of all CPUs
	PID     int32  // of the thread that wrote it
	Payload []byte // with up to 7 bytes of padding at the end
}

var instances atomic.Uint32

// Instance is a trace instance of ftrace that is removed with the test. Its records are read from the kernel's raw
// pages.
type Instance struct {
	*tracefs.Instance
	tb     testing.TB
	events map[uint16]*tracefs.Event // by id
	raw    []int                     // descriptors of trace_pipe_raw, by CPU
	page   []byte
}

// NewInstance makes an instance with kb KiB of buffer for each CPU.
func NewInstance(tb testing.TB, fs *tracefs.Dir, kb int) *Instance {
	tb.Helper()
	own, err := fs.NewInstance(fmt.Sprintf("uetest-%d-%d", os.Getpid(), instances.Add(1)))
	require.NoError(tb, err)
	i := &Instance{Instance: own, tb: tb, events: map[uint16]*tracefs.Event{}, page: make([]byte, os.Getpagesize())}
	tb.Cleanup(i.remove)
	require.NoError(tb, i.SetBufferSize(kb))
	if _, measures := tb.(*testing.B); !measures {
		// By the clocks that tell a time, records of two CPUs may have the same one, or the wrong order.
		require.NoError(tb, i.SetClock("counter"))
	}
	files, err := filepath.Glob(i.Path("per_cpu", "cpu*", "trace_pipe_raw"))
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	for n := range files {
		fd, err := systest.OpenNonblocking(i.Path("per_cpu", fmt.Sprintf("cpu%d", n), "trace_pipe_raw"))
		require.NoError(tb, err)
		i.raw = append(i.raw, fd)
	}
	return i
}

func (i *Instance) remove() {
	i.Detach()
	for _, fd := range i.raw {
		if err := sys.Close(fd); err != nil {
			i.tb.Errorf("closing trace_pipe_raw: %v", err)
		}
	}
	if err := i.Remove(); err != nil {
		i.tb.Error(err)
	}
}

// SetClock sets the clock of the records, such as "global", and discards what was recorded.
func (i *Instance) SetClock(clock string) error {
	return os.WriteFile(i.Path("trace_clock"), []byte(clock), 0)
}

// Clear discards what was recorded.
func (i *Instance) Clear() {
	i.tb.Helper()
	f, err := os.OpenFile(i.Path("trace"), os.O_WRONLY|os.O_TRUNC, 0) // which truncate(2) does not do
	require.NoError(i.tb, err)
	require.NoError(i.tb, f.Close())
}

// Attach enables events, named as for [tracefs.Instance.Event].
func (i *Instance) Attach(names ...string) {
	i.tb.Helper()
	for _, name := range names {
		e := i.Event(name)
		id, err := e.ID()
		require.NoError(i.tb, err)
		i.events[uint16(id)] = e
		require.NoError(i.tb, e.Enable())
	}
}

// Detach disables the events of these names, or all.
func (i *Instance) Detach(names ...string) {
	for _, e := range i.events {
		if len(names) > 0 && !slices.Contains(names, e.Name()) {
			continue
		}
		err := e.Disable()
		// An event without users is being deleted.
		if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENODEV) {
			i.tb.Errorf("detaching: %v", err)
		}
	}
}

// Stats returns the counts of the ring buffers.
func (i *Instance) Stats() tracefs.BufferStats {
	i.tb.Helper()
	s, err := i.BufferStats()
	require.NoError(i.tb, err)
	return s
}

// Content returns the records as text and leaves them in the buffers.
func (i *Instance) Content() string {
	i.tb.Helper()
	text, err := i.Text()
	require.NoError(i.tb, err)
	return text
}

// Records consumes what is in the buffers, in the order in which it was written: a test's thread may have moved to another CPU
// between two records.
func (i *Instance) Records() (records []Record) {
	i.tb.Helper()
	ids := make(map[uint16]string, len(i.events))
	for id, e := range i.events {
		ids[id] = e.Name()
	}
	for cpu, fd := range i.raw {
		for {
			n, err := systest.Read(fd, i.page)
			require.NoError(i.tb, err)
			if n == 0 {
				break
			}
			got, err := parsePage(ids, cpu, i.page[:n])
			require.NoError(i.tb, err)
			records = append(records, got...)
		}
	}
	slices.SortStableFunc(records, func(a, b Record) int { return cmp.Compare(a.Time, b.Time) })
	return records
}
