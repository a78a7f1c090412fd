package perf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// MustStats returns the counts of a session.
func MustStats(t *testing.T, s *Session) live.Stats {
	t.Helper()
	stats, err := s.Stats()
	require.NoError(t, err)
	return stats
}

// statsOf returns the counts of a source.
func statsOf(t *testing.T, src *Source) live.Counts {
	t.Helper()
	st, err := src.Stats()
	require.NoError(t, err)
	return st
}

// TestStateReadsNoCounts: the state of a session with many events takes no system call, and does not wait while events are attached.
func TestStateReadsNoCounts(t *testing.T) {
	const events = 100
	k := newFakeKernel(0, 1)
	s, fs := k.start(t, nil)
	for i := range events {
		name := fmt.Sprint("ev", i)
		fs.add("user_events", name)
		mustAttach(t, s, name, nil)
	}
	s.attach.Lock()
	before := k.reads
	st := s.State()
	assert.Equal(t, before, k.reads)
	s.attach.Unlock()
	assert.Equal(t, live.State{Rings: 2}, st)
	assert.Equal(t, st, MustStats(t, s).State)
	assert.GreaterOrEqual(t, k.reads-before, 2*events, "Stats does")
}

// TestDetachWithUnreadRecords: records that were written before are delivered, and the source is counted until they are read. A hit that
// the kernel counted without recording it, while the event was being disabled, is none.
func TestDetachWithUnreadRecords(t *testing.T) {
	k := newFakeKernel(0, 1)
	s, id, src := k.attach(t, nil)
	assert.Equal(t, src.String(), MustStats(t, s).Sources[0].Name)
	k.hit(id, 0, 1, "a")
	k.hit(id, 1, 2, "b")
	k.events[len(k.events)-1].counts.Matched++
	require.NoError(t, src.Detach())
	stats := MustStats(t, s)
	assert.Equal(t, []live.Counts{{Name: "user_events:ev", Matched: 3, Pending: 3}}, stats.Sources)
	assert.Zero(t, stats.Detached)
	assert.Equal(t, []string{"a", "b"}, texts(t, s))
	texts(t, s) // which forgets what is read
	stats = MustStats(t, s)
	assert.Empty(t, stats.Sources)
	assert.Equal(t, live.Counts{Matched: 2, Read: 2}, stats.Detached)
	assert.Equal(t, live.Counts{Matched: 2, Read: 2}, stats.Total())
}

// TestRecordsInTheWindowOfADetachedSource: a descriptor is forgotten when its last record is delivered, not when the rings are empty.
func TestRecordsInTheWindowOfADetachedSource(t *testing.T) {
	k := newFakeKernel(0)
	s, id, src := k.attach(t, nil)
	k.hit(id, 0, uint64(k.mono), "young")
	require.NoError(t, src.Detach())
	s.SetDeadline(time.Now().Add(-1))
	var r live.Record
	for range 2 {
		require.ErrorIs(t, s.ReadInto(&r), os.ErrDeadlineExceeded)
	}
	assert.Equal(t, uint64(1), MustStats(t, s).Sources[0].Pending)
	assert.Equal(t, []string{"young"}, texts(t, s))
	assert.Zero(t, MustStats(t, s).Malformed)
}

// TestHitsWithoutRecords: what an event that is being disabled explains is no hit: one of each context of a CPU. The
// others are lost.
func TestHitsWithoutRecords(t *testing.T) {
	for _, noLost := range []bool{false, true} {
		for without, want := range map[uint64]live.Counts{
			1: {Matched: 2, Read: 2}, contexts: {Matched: 2, Read: 2}, contexts + 1: {Matched: 3, Read: 2, Lost: 1}, 1000: {Matched: 998, Read: 2, Lost: 996},
		} {
			k := newFakeKernel(0, 1)
			s, fs := k.start(t, nil)
			s.noLost = noLost
			id := fs.add("user_events", "ev")
			src := mustAttach(t, s, "ev", nil)
			k.hit(id, 0, 1, "a")
			k.hit(id, 1, 2, "b")
			k.events[len(k.events)-1].counts.Matched += without
			require.NoError(t, src.Detach())
			texts(t, s)
			texts(t, s) // which forgets what is read
			if noLost {
				want = live.Counts{Matched: 2 + without, Read: 2, Lost: without} // the kernel counts no losses
			}
			stats := MustStats(t, s)
			assert.Equal(t, want, stats.Total(), "%d hits without a record", without)
			assert.False(t, statsOf(t, src).AtLeast, "all is read")
		}
	}
}

// TestRecordsWithoutHits: a record of a hit that was counted after the event was disabled is a hit.
func TestRecordsWithoutHits(t *testing.T) {
	k := newFakeKernel(0)
	s, id, src := k.attach(t, nil)
	k.hit(id, 0, 1, "a")
	k.events[len(k.events)-1].counts.Matched--
	require.NoError(t, src.Detach())
	assert.Len(t, texts(t, s), 1)
	texts(t, s) // which forgets what is read
	stats := MustStats(t, s)
	assert.Equal(t, live.Counts{Matched: 1, Read: 1}, stats.Total())
}

// TestDetachedCountOnly: a sum of records has no hits that were only counted, and of these none was overwritten.
func TestDetachedCountOnly(t *testing.T) {
	k := newFakeKernel(0)
	s, fs := k.start(t, &Options{Overwrite: true})
	id := fs.add("user_events", "ev")
	src := mustAttach(t, s, "ev", &AttachOptions{CountOnly: true})
	k.hit(id, 0, 1, "a")
	require.NoError(t, s.Snapshot(func(*live.Record) error { return nil }))
	want := live.Counts{Name: "user_events:ev", Matched: 1, CountOnly: true}
	assert.Equal(t, want, statsOf(t, src))
	require.NoError(t, src.Detach())
	assert.Equal(t, want, statsOf(t, src))
	stats := MustStats(t, s)
	assert.Zero(t, stats.Total())
}

// TestStatsOfFullRings: Stats looks into no ring, for which ReadInto would wait.
func TestStatsOfFullRings(t *testing.T) {
	k := newFakeKernel(0, 1)
	s, id, src := k.attach(t, nil)
	k.hit(id, 0, 1, "text")
	for _, r := range s.rings {
		defer func(data []byte) { r.queue.ring.data = data }(r.queue.ring.data)
		r.queue.ring.data = nil // a look would panic
	}
	assert.Equal(t, live.Counts{Name: "user_events:ev", Matched: 1, Pending: 1}, statsOf(t, src))
}

// TestProcesses: samples of other processes count as read and excluded.
func TestProcesses(t *testing.T) {
	k := newFakeKernel(0)
	s, id, src := k.attach(t, &Options{})
	src.SetProcesses(map[int32]bool{7: true})
	k.hit(id, 0, 1, "of process 100")
	e := k.events[len(k.events)-1]
	e.counts.Matched++
	e.output(sampleBytes(e.counts.ID, 7, 8, 2, "mine"))
	assert.Equal(t, []string{"mine"}, texts(t, s))
	require.NoError(t, src.Detach())
	texts(t, s)
	texts(t, s) // which forgets what is read
	stats := MustStats(t, s)
	assert.Equal(t, live.Counts{Matched: 2, Read: 2, Excluded: 1}, stats.Total())
}

// TestTaskRecords: lost records of tasks are counted, also after a CPU was offline and after Close.
func TestTaskRecords(t *testing.T) {
	k := newFakeKernel(0, 1)
	s, _ := k.start(t, &Options{Tasks: true})
	tasks := func(cpu int) *fakeEvent {
		for _, e := range k.events {
			if e.attr.Tasks && e.cpu.number == cpu {
				return e
			}
		}
		return nil
	}
	for i := range 3 {
		tasks(0).output(otherBytes(typeFork, 0, tasks(0).counts.ID, uint64(i), words(uint32(i), 1, 2, 3, 0, 0)))
	}
	assert.Len(t, texts(t, s), 3)
	tasks(0).counts.Lost, tasks(1).counts.Lost = 2, 5
	stats := MustStats(t, s)
	assert.Equal(t, uint64(7), stats.LostTaskRecords)
	k.cpus[1].since++
	s.Look()
	tasks(1).counts.Lost = 10
	assert.Equal(t, uint64(17), MustStats(t, s).LostTaskRecords)
	require.NoError(t, s.Stop())
	assert.False(t, tasks(0).on || tasks(1).on, "nothing is recorded any more")
	require.NoError(t, s.Close())
	assert.Equal(t, uint64(17), MustStats(t, s).LostTaskRecords)
}

// TestTasksRefused: a CPU without records of tasks leaves no descriptor open.
func TestTasksRefused(t *testing.T) {
	k := newFakeKernel(0)
	s, _ := k.start(t, &Options{Tasks: true})
	k.cpus = append(k.cpus, cpu{1, 1})
	before := len(k.events)
	k.enableFail = errno.EINVAL
	s.Look()
	k.enableFail = nil
	assert.ErrorIs(t, MustStats(t, s).CPUErr, errno.EINVAL)
	assert.Len(t, k.events, before)
}

// TestStop: a session that is stopped attaches to nothing any more, neither on a CPU that comes online nor for Follow.
func TestStop(t *testing.T) {
	k := newFakeKernel(0)
	s, fs := k.start(t, nil)
	id := fs.add("user_events", "ev")
	mustAttach(t, s, "ev", nil)
	k.hit(id, 0, 1, "a")
	fs.status("ev")
	require.NoError(t, s.Follow(func(*tracefs.Event) *AttachOptions {
		require.NoError(t, s.Stop())
		return &AttachOptions{}
	}, func(e *tracefs.Event, _ *Source, err error) {
		t.Errorf("%s: %v", e, err)
	}))
	before := len(k.events)
	k.cpus = append(k.cpus, cpu{1, 1})
	s.Look()
	assert.Len(t, k.events, before)
	var r live.Record
	require.NoError(t, s.ReadInto(&r))
	require.Equal(t, io.EOF, s.ReadInto(&r))
}

// TestStopWithoutUnreadRecords: what ReadInto would wait for does not come any more.
func TestStopWithoutUnreadRecords(t *testing.T) {
	k := newFakeKernel(0)
	s, _, _ := k.attach(t, nil)
	require.NoError(t, s.Stop())
	s.SetDeadline(time.Now()) // so that a failure ends
	require.Equal(t, io.EOF, s.ReadInto(&live.Record{}))
}

// TestEnableRefused: an event that cannot be enabled is not attached, and leaves nothing open.
func TestEnableRefused(t *testing.T) {
	k := newFakeKernel(0, 1)
	s, fs := k.start(t, nil)
	fs.add("user_events", "ev")
	k.enableFail = errno.EINVAL
	_, err := s.Attach("ev", nil)
	require.ErrorIs(t, err, errno.EINVAL)
	k.enableFail = nil
	assert.Len(t, k.events, 2, "the rings")
	texts(t, s)
	texts(t, s) // which forgets what is read
	assert.Empty(t, MustStats(t, s).Sources)
}

// TestOrderOfTwoRings: records of two CPUs come in order of time, whichever is read first.
func TestOrderOfTwoRings(t *testing.T) {
	for _, cpus := range [][]int{{0, 1, 0, 1, 1, 0}, {1, 0, 1, 0, 0, 1}} {
		k := newFakeKernel(0, 1)
		s, id, _ := k.attach(t, nil)
		var want []string
		for i, cpu := range cpus {
			want = append(want, strings.Repeat("x", i+1))
			k.hit(id, cpu, uint64(i), want[i])
		}
		k.hit(id, cpus[5], 5, "of the same time")
		assert.Equal(t, append(want, "of the same time"), texts(t, s))
		assert.Zero(t, MustStats(t, s).Late)
	}
}

// TestInvalidRecordFirst: an invalid record that is the first one of a ring is counted, as any other.
func TestInvalidRecordFirst(t *testing.T) {
	for _, overwrite := range []bool{false, true} {
		k := newFakeKernel(0)
		s, id, _ := k.attach(t, &Options{Overwrite: overwrite})
		e := k.events[len(k.events)-1]
		e.output(record(typeSample, 0, []byte("12345678")))
		k.hit(id, 0, 1, "good")
		e.output(record(typeSample, 0, []byte("12345678")))
		k.hit(id, 0, 2, "better")
		if overwrite {
			n := 0
			require.NoError(t, s.Snapshot(func(r *live.Record) error {
				n++
				assert.Equal(t, time.Unix(0, int64(r.Monotonic)+1e18), r.Time)
				return nil
			}))
			assert.Equal(t, 2, n)
		} else {
			e.output(otherBytes(typeLost, 0, e.counts.ID, 6, words(1, 0, 2, 0)))
			assert.Equal(t, uint64(2), MustStats(t, s).Sources[0].Pending, "samples only")
			assert.Equal(t, []string{"good", "better"}, texts(t, s))
		}
		assert.Equal(t, uint64(2), MustStats(t, s).Malformed)
	}
}

// TestFewOverwritten: what newer records replaced is not pending.
func TestFewOverwritten(t *testing.T) {
	k := newFakeKernel(0)
	s, id, src := k.attach(t, &Options{Overwrite: true, BufferSize: minOverwrite})
	const hits = (minOverwrite - unsafePart) / 1000
	for i := range hits {
		k.hit(id, 0, uint64(i), strings.Repeat("x", 1000))
	}
	e := k.events[len(k.events)-1]
	e.counts.Matched++
	e.counts.Lost++
	n := uint64(0)
	require.NoError(t, s.Snapshot(func(*live.Record) error { n++; return nil }))
	require.Less(t, n, uint64(hits))
	require.Greater(t, 2*n, uint64(hits))
	st := statsOf(t, src)
	assert.Equal(t, live.Counts{Name: "user_events:ev", Matched: hits + 1, Read: n, Lost: 1, Overwritten: hits - n}, st)
	require.NoError(t, src.Detach())
	require.NoError(t, s.Snapshot(func(*live.Record) error { return nil }))
	stats := MustStats(t, s)
	assert.Equal(t, live.Counts{Matched: hits + 1, Read: n, Lost: 1, Overwritten: hits - n}, stats.Total())
	assert.ErrorIs(t, s.ReadInto(&live.Record{}), errno.EINVAL)
}

// TestSnapshotAfterStop: what was written before Stop can still be read.
func TestSnapshotAfterStop(t *testing.T) {
	k := newFakeKernel(0)
	s, id, _ := k.attach(t, &Options{Overwrite: true, BufferSize: minOverwrite})
	k.hit(id, 0, 1, "x")
	require.NoError(t, s.Stop())
	n := 0
	require.NoError(t, s.Snapshot(func(*live.Record) error { n++; return nil }))
	assert.Equal(t, 1, n)
	require.NoError(t, s.Close())
	assert.ErrorIs(t, s.Snapshot(func(*live.Record) error { return nil }), os.ErrClosed)
}

// TestReadWaits: a deadline that is far away ends no wait, and a record that becomes old enough meanwhile is delivered at once.
func TestReadWaits(t *testing.T) {
	k := newFakeKernel(0)
	s, fs := k.start(t, nil)
	assert.ErrorIs(t, s.ReadInto(nil), errno.EINVAL)
	assert.Equal(t, defaultBufferSize, MustStats(t, s).BufferSize)
	id := fs.add("user_events", "ev")
	mustAttach(t, s, "ev", nil)
	s.SetDeadline(time.Now().Add(time.Hour))
	k.hit(id, 0, uint64(k.mono), "a")
	var r live.Record
	require.NoError(t, s.ReadInto(&r))
	assert.Equal(t, []int{10}, k.waited, "the window")
	k.step = int64(20 * time.Millisecond)
	k.hit(id, 0, uint64(k.mono+k.step), "b")
	require.NoError(t, s.ReadInto(&r))
	require.NoError(t, s.Flush())
	assert.Zero(t, k.woken, "while no call waits")
}

// TestWatermark: the kernel wakes the reader when a quarter of a ring is full.
func TestWatermark(t *testing.T) {
	k := newFakeKernel(0)
	k.attach(t, nil)
	assert.Equal(t, uint32(defaultBufferSize/4), k.events[0].attr.Watermark)
}

func TestDefaults(t *testing.T) {
	var none *Options
	defaults := Options{BufferSize: 512 << 10, Latency: 100 * time.Millisecond, Window: 10 * time.Millisecond, Poll: 250 * time.Millisecond}
	assert.Equal(t, defaults, none.withDefaults())
	largest := &Options{BufferSize: MaxBufferSize}
	assert.Equal(t, MaxBufferSize, largest.withDefaults().BufferSize)
}

// TestSumOfStats: a sum has all counts.
func TestSumOfStats(t *testing.T) {
	var sum live.Counts
	for range 2 {
		sum.Add(live.Counts{Matched: 1, Read: 2, Excluded: 3, Lost: 4, Pending: 5, Overwritten: 6, AtLeast: true})
	}
	assert.Equal(t, live.Counts{Matched: 2, Read: 4, Excluded: 6, Lost: 8, Pending: 10, Overwritten: 12, AtLeast: true}, sum)
	sum.Add(live.Counts{})
	assert.True(t, sum.AtLeast, "of a part is of the sum")
	var exact live.Counts
	exact.Add(live.Counts{})
	assert.False(t, exact.AtLeast)
}

// TestRemedies: an error has a remedy only for the option that may be its cause.
func TestRemedies(t *testing.T) {
	for _, tt := range []struct {
		err  error
		o    Options
		want string
	}{
		{errno.EINVAL, Options{}, ""},
		{errno.EBADF, Options{}, ""},
		{errors.New("another"), Options{CgroupID: true}, ""},
		{errors.New("another"), Options{Cgroup: "/x"}, ""},
		{errno.EINVAL, Options{CgroupID: true}, "Options.CgroupID"},
		{errno.EINVAL, Options{Cgroup: "/x"}, "Options.Cgroup needs"},
		{errno.EBADF, Options{Cgroup: "/x"}, "Options.Cgroup needs"},
	} {
		got := remedy(tt.err, &tt.o)
		assert.Equal(t, tt.want == "", got == "", "%v: %s", tt.err, got)
		assert.Contains(t, got, tt.want)
	}
}

// TestShortestRecords: each field may be the last one, and end where the record does.
func TestShortestRecords(t *testing.T) {
	var r live.Record
	sample := raw(order.AppendUint32(append(words(typeSample, 36<<16), make([]byte, sampleFields)...), 0))
	require.Len(t, sample, headerSize+sampleFields+4)
	assert.True(t, sample.valid())
	assert.True(t, sample.decode(&Options{}, &r))
	assert.Empty(t, r.Raw)
	assert.Empty(t, r.Raw)

	// One address, and one that marks the context.
	const context = ^uint64(4094)
	chain := append(words(typeSample, 0), make([]byte, sampleFields)...)
	for _, word := range []uint64{2, 1, context} {
		chain = order.AppendUint64(chain, word)
	}
	require.True(t, raw(order.AppendUint32(chain, 0)).decode(&Options{Callchain: true}, &r))
	assert.Equal(t, []uint64{1}, r.Callchain)

	comm := raw(otherBytes(typeComm, 0, 1, 6, words(1, 2)))
	require.True(t, comm.decode(&Options{}, &r))
	assert.Empty(t, r.Comm)
}

// TestOverranAtTheEdge: a ring with just enough room for the largest records has lost none.
func TestOverranAtTheEdge(t *testing.T) {
	r := newRing(1 << 20)
	r.head.Store(1<<20 - spare)
	assert.False(t, r.overran(0))
	assert.True(t, r.overran(^uint64(0)), "one byte less")
}

// TestLossesOfDetached: each loss has the name of its event in some Stats that follows an Overran, also where the event was detached and
// read before, or is attached again. Nothing is kept for good.
func TestLossesOfDetached(t *testing.T) {
	k := newFakeKernel(0)
	s, fs := k.start(t, nil)
	fs.add("user_events", "ev")
	fs.add("user_events", "other")
	sources := func(lost ...uint64) {
		t.Helper()
		assert.Empty(t, append(texts(t, s), texts(t, s)...)) // which forgets what is read
		var got []uint64
		for _, src := range MustStats(t, s).Sources {
			got = append(got, src.Lost)
		}
		assert.Equal(t, lost, got)
	}
	lose := func(n uint64) *Source {
		src := mustAttach(t, s, "ev", nil)
		e := k.events[len(k.events)-1]
		e.counts.Matched += n
		e.counts.Lost += n
		return src
	}
	require.NoError(t, mustAttach(t, s, "other", nil).Detach())
	assert.False(t, s.Overran())
	sources()

	require.NoError(t, lose(5).Detach())
	sources(5)
	assert.True(t, s.Overran())
	sources(5)
	again := lose(7)
	assert.False(t, s.Overran())
	sources(5, 7) // the losses of a name do not become fewer
	require.NoError(t, again.Detach())
	sources(5, 7)
	assert.True(t, s.Overran())
	sources(5, 7) // else a reader would find 2 more than before, and 5 without a name
	assert.False(t, s.Overran())
	sources()
	assert.Equal(t, uint64(12), MustStats(t, s).Detached.Lost)

	for range maxKept + 1 {
		require.NoError(t, lose(1).Detach())
	}
	assert.Empty(t, append(texts(t, s), texts(t, s)...))
	stats := MustStats(t, s)
	assert.Len(t, stats.Sources, maxKept)
	total := stats.Total()
	assert.EqualValues(t, 12+maxKept+1, total.Lost)
	assert.True(t, s.Overran())
	require.NoError(t, s.Close())
	stats = MustStats(t, s)
	total = stats.Total()
	assert.EqualValues(t, 12+maxKept+1, total.Lost)
}
