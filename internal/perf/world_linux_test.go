package perf_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

var names atomic.Uint32

// newName returns a name that no other test uses: kernels before 6.4 keep every event.
func newName() string { return fmt.Sprintf("perf_test_%d_%d", os.Getpid(), names.Add(1)) }

// program opens a provider, and closes it when the test ends.
func program(t *testing.T) *uevents.Provider {
	t.Helper()
	p, err := uevents.Open(nil)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

// register registers an event with two numbers.
func register(t *testing.T, p *uevents.Provider, name string) *uevents.Event {
	t.Helper()
	ev, err := p.Register(tracepoint.MustParse(name+" u64 seq; u64 writer"), nil)
	require.NoError(t, err)
	return ev
}

// newEvent registers an event with a new name.
func newEvent(t *testing.T) *uevents.Event {
	t.Helper()
	return register(t, program(t), newName())
}

// write writes a record. A tool must be attached.
func write(t *testing.T, ev *uevents.Event, seq, writer uint64) {
	t.Helper()
	var b [20]byte
	binary.NativeEndian.PutUint64(b[4:], seq)
	binary.NativeEndian.PutUint64(b[12:], writer)
	written, err := ev.WriteRecord(b[:])
	require.NoError(t, err)
	require.True(t, written)
}

func open(t *testing.T, fs *tracefs.Dir, o *perf.Options) *perf.Session {
	t.Helper()
	s, err := perf.Open(fs, o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

func attach(t *testing.T, s *perf.Session, ev *uevents.Event, o *perf.AttachOptions) *perf.Source {
	t.Helper()
	src, err := s.Attach(ev.Name(), o)
	require.NoError(t, err)
	return src
}

// session opens a session with a new event.
func session(t *testing.T, o *perf.Options, a *perf.AttachOptions) (*perf.Session, *uevents.Event, *perf.Source) {
	t.Helper()
	fs := kerneltest.Require(t)
	ev := newEvent(t)
	s := open(t, fs, o)
	return s, ev, attach(t, s, ev, a)
}

// sample is the part of a record that tests compare.
type sample struct {
	source      any // its Tag, a *perf.Source
	seq, writer uint64
}

func sampleOf(t *testing.T, r *live.Record) sample {
	t.Helper()
	require.Equal(t, live.Sample, r.Kind)
	require.GreaterOrEqual(t, len(r.Raw[tracepoint.CommonSize:]), 16)
	return sample{r.Tag, binary.NativeEndian.Uint64(r.Raw[tracepoint.CommonSize:]), binary.NativeEndian.Uint64(r.Raw[tracepoint.CommonSize:][8:])}
}

// flushed returns the records written before the call.
func flushed(t *testing.T, s *perf.Session) (samples []sample) {
	t.Helper()
	require.NoError(t, s.Flush())
	for r := (live.Record{}); ; {
		err := s.ReadInto(&r)
		if err != nil {
			require.ErrorIs(t, err, perf.ErrFlushed)
			return samples
		}
		samples = append(samples, sampleOf(t, &r))
	}
}

// statsOf returns the counts of a source, and checks their equation.
func statsOf(t *testing.T, src *perf.Source) live.Counts {
	t.Helper()
	st, err := src.Stats()
	require.NoError(t, err)
	assert.Equal(t, st.Matched, st.Read+st.Lost+st.Pending+st.Overwritten, "%+v", st)
	return st
}

// usedBy returns the kinds of tools attached to an event, and whether the event exists.
func usedBy(t *testing.T, fs *tracefs.Dir, name string) (tools []string, exists bool) {
	t.Helper()
	st, err := fs.Status()
	require.NoError(t, err)
	for _, e := range st.Events {
		if e.Name == name {
			return e.UsedBy, true
		}
	}
	return nil, false
}
