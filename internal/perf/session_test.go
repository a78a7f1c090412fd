package perf

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
)

// textOf returns the payload of a sample, without the bytes that fill it up, and an empty text for other records.
func textOf(r *live.Record) string {
	return strings.TrimRight(string(r.Raw[min(len(r.Raw), tracepoint.CommonSize):]), "\x00")
}

// texts returns the payloads that ReadInto returns until it is flushed.
func texts(t *testing.T, s *Session) (list []string) {
	t.Helper()
	require.NoError(t, s.Flush())
	for r := (live.Record{}); ; {
		err := s.ReadInto(&r)
		if err != nil {
			require.Equal(t, ErrFlushed, err)
			return list
		}
		list = append(list, textOf(&r))
	}
}

func mustAttach(t *testing.T, s *Session, name string, o *AttachOptions) *Source {
	t.Helper()
	src, err := s.Attach(name, o)
	require.NoError(t, err)
	return src
}

// TestWindow: records are held back until older ones of other CPUs may have come. Later ones are counted.
func TestWindow(t *testing.T) {
	k := newFakeKernel(0, 1)
	s, id, src := k.attach(t, nil)
	now := uint64(k.mono)
	k.hit(id, 0, now-1e6, "second")
	s.SetDeadline(time.Now().Add(-1))
	var r live.Record
	require.ErrorIs(t, s.ReadInto(&r), os.ErrDeadlineExceeded, "it is too young")
	k.hit(id, 1, now-2e6, "first")
	s.SetDeadline(time.Time{})
	for i, want := range []string{"first", "second"} {
		require.NoError(t, s.ReadInto(&r))
		assert.Equal(t, 1-i, r.CPU)
		assert.Equal(t, want, textOf(&r))
		assert.Equal(t, time.Unix(0, int64(r.Monotonic)+1e18), r.Time)
		assert.Same(t, src, r.Tag)
	}
	assert.Equal(t, []int{8, 1}, k.waited, "it waited no longer than for the window of the oldest record")
	k.hit(id, 0, now-5e6, "late")
	require.NoError(t, s.ReadInto(&r))
	stats := MustStats(t, s)
	assert.Equal(t, uint64(1), stats.Late)
	assert.Equal(t, live.Counts{Matched: 3, Read: 3}, stats.Total())
}

// TestHostileRings: records that no kernel writes are counted, and do not block later ones.
func TestHostileRings(t *testing.T) {
	k := newFakeKernel(0, 1)
	s, id, src := k.attach(t, nil)
	e := k.events[len(k.events)-2] // of CPU 0
	for _, b := range [][]byte{
		sampleBytes(999, 1, 1, 5, "of an unknown event"),
		record(typeSample, 0, []byte("12345678")),
		otherBytes(typeLost, 0, e.counts.ID, 6, words(1, 0, 2, 0)),
		otherBytes(77, 0, 1, 6, nil),
		otherBytes(typeFork, 0, 1, 7, nil),
		record(typeSample, 0, append(sampleStart(e.counts.ID, 1, 1, 8), words(5000, 0)...)),
	} {
		e.output(b)
	}
	k.hit(id, 0, 9, "good")
	e.output([]byte{9, 0, 0, 0, 0, 0, 3, 0}) // the end of what can be told apart
	e.output(sampleBytes(e.counts.ID, 1, 1, 10, "gone"))
	assert.Equal(t, []string{"good"}, texts(t, s))
	k.hit(id, 0, 11, "next")
	assert.Equal(t, []string{"next"}, texts(t, s))
	stats := MustStats(t, s)
	assert.Equal(t, uint64(5), stats.Malformed)
	st := statsOf(t, src)
	assert.Equal(t, uint64(2), st.Read)
}

// TestMemoryRefused: rings of all CPUs shrink to what the kernel allows.
func TestMemoryRefused(t *testing.T) {
	page := os.Getpagesize()
	for _, c := range []struct {
		name      string
		overwrite bool
		maxRing   int
		available uint64
		unknown   error // of asking for the available memory
		want      int   // 0 for an error
	}{
		{"enough", false, 1 << 30, 6 << 20, nil, 1 << 20},
		{"less", false, 1 << 18, 1 << 30, nil, 1 << 18},
		{"one page", false, page, 1 << 30, nil, page},
		{"none", false, page - 1, 1 << 30, nil, 0},
		{"overwriting", true, minOverwrite, 1 << 30, nil, minOverwrite},
		{"too little for overwriting", true, minOverwrite - 1, 1 << 30, nil, 0},
		{"little memory", false, 1 << 30, 6<<20 - 1, nil, 1 << 19},
		{"no memory", false, 1 << 30, 0, nil, page},
		{"no memory for overwriting", true, 1 << 30, 0, nil, minOverwrite},
		{"unknown memory, as without /proc", false, 1 << 30, 0, syscall.ENOENT, 1 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newFakeKernel(0, 1, 2)
			k.maxRing, k.available, k.memoryErr = c.maxRing, c.available, c.unknown
			s, fs := k.start(t, &Options{BufferSize: 1<<20 - 1, Overwrite: c.overwrite})
			fs.add("user_events", "ev")
			_, err := s.Attach("ev", nil)
			if c.want == 0 {
				assert.ErrorIs(t, err, errno.EPERM)
				assert.ErrorContains(t, err, "kernel.perf_event_mlock_kb")
				assert.Empty(t, k.events)
				return
			}
			require.NoError(t, err)
			stats := MustStats(t, s)
			assert.Equal(t, c.want, stats.BufferSize)
			assert.Equal(t, 3, stats.Rings)
		})
	}
}

// TestRingsOfTheirOwn: an event gets the rings that it asks for, or shares those of the session where there is no room for them.
func TestRingsOfTheirOwn(t *testing.T) {
	const size = 1 << 20
	for _, c := range []struct {
		name      string
		room      int    // bytes of all rings
		available uint64 // when the second event is attached
		limit     int    // of descriptors
		own       bool
	}{
		{"enough", 4 * size, 1 << 40, 1000, true},
		{"less", 2*size + 2*size/8, 1 << 40, 1000, true},
		{"too small to be of use", 2*size + 2*size/8 - 1, 1 << 40, 1000, false},
		{"little memory", 4 * size, 2*size + 4*size/8, 1000, true},
		{"too little memory", 4 * size, 2*size + 4*size/8 - 1, 1000, false},
		{"descriptors for both", 4 * size, 1 << 40, 8, true},
		{"too few descriptors", 4 * size, 1 << 40, 7, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newFakeKernel(0, 1)
			k.limit, k.room = c.limit, c.room
			s, fs := k.start(t, &Options{BufferSize: size})
			flood, rare := fs.add("user_events", "flood"), fs.add("user_events", "rare")
			mustAttach(t, s, "flood", nil)
			k.available = c.available
			src := mustAttach(t, s, "rare", &AttachOptions{Ring: "rare"})
			stats := MustStats(t, s)
			assert.Equal(t, map[bool]int{true: 4, false: 2}[c.own], stats.Rings)
			assert.Equal(t, size, stats.BufferSize)
			long := strings.Repeat("x", 1000)
			for i := range uint64(2 * size / 1000) {
				k.hit(flood, 0, i, long)
			}
			last := strings.Repeat("y", 1000)
			k.hit(rare, 0, 1<<20, last)
			st := statsOf(t, src)
			assert.Equal(t, map[bool]uint64{true: 0, false: 1}[c.own], st.Lost)
			got := texts(t, s)
			assert.Equal(t, c.own, got[len(got)-1] == last)

			// A CPU that comes online has all rings, too.
			k.room, k.limit = 0, 1000
			k.cpus = append(k.cpus, cpu{2, 1})
			s.Look()
			stats = MustStats(t, s)
			if c.limit == 1000 {
				require.NoError(t, stats.CPUErr)
				assert.Equal(t, map[bool]int{true: 6, false: 3}[c.own], stats.Rings)
			}
		})
	}
}

// TestRefused: errors of the kernel have a remedy.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		o      Options
		err    error
		remedy string
	}{
		{"rights", Options{}, syscall.EACCES, "kernel.perf_event_paranoid"},
		{"cgroup ids", Options{CgroupID: true}, errno.EINVAL, "CONFIG_CGROUP_PERF"},
		{"no cgroup", Options{Cgroup: "/x"}, errno.EBADF, "a directory of cgroup v2"},
		{"cgroup without controllers", Options{Cgroup: "/x"}, errno.ENOENT, "cgroup.subtree_control"},
		{"too many files", Options{}, errno.EMFILE, "ulimit -n"},
		{"no perf events", Options{}, errors.ErrUnsupported, "CONFIG_PERF_EVENTS"},
		{"tasks", Options{Tasks: true}, syscall.EACCES, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newFakeKernel(0, 1)
			s, fs := k.start(t, &c.o)
			fs.add("user_events", "ev")
			before := len(k.events)
			k.refuse = func(a sys.PerfAttr, cpu int) error {
				if cpu == 1 && a.Tracepoint != 0 {
					return c.err
				}
				return nil
			}
			_, err := s.Attach("ev", &AttachOptions{CountOnly: true})
			assert.ErrorIs(t, err, c.err)
			assert.ErrorContains(t, err, "attaching to event user_events:ev")
			assert.ErrorContains(t, err, c.remedy)
			assert.Len(t, k.events, before, "nothing is left open")
			_, err = s.Attach("ev", nil)
			assert.ErrorIs(t, err, c.err)
			texts(t, s)
			texts(t, s) // which forgets what is read
			assert.Empty(t, s.byID)
			assert.Empty(t, s.sources)
			k.refuse = nil
			mustAttach(t, s, "ev", nil)
		})
	}
	k := newFakeKernel(0)
	k.refuse = func(sys.PerfAttr, int) error { return syscall.EACCES }
	_, err := open(tracefs.At(t.TempDir()), Options{Tasks: true, BufferSize: 4096, Poll: 1}, k)
	assert.ErrorIs(t, err, syscall.EACCES)
	assert.True(t, k.closed)
}

// TestNoLostCounts: if the kernel does not count lost records of each event, they are known once all records are read.
func TestNoLostCounts(t *testing.T) {
	k := newFakeKernel(0)
	k.refuse = func(a sys.PerfAttr, _ int) error {
		if a.Lost {
			return errno.EINVAL
		}
		return nil
	}
	s, id, src := k.attach(t, &Options{BufferSize: 1})
	for range 1000 {
		k.hit(id, 0, 1, "text")
	}
	st := statsOf(t, src)
	n := uint64(os.Getpagesize() / len(sampleBytes(1, 1, 1, 1, "text")))
	want := live.Counts{Name: "user_events:ev", Matched: 1000, Pending: 1000, AtLeast: true}
	assert.Equal(t, want, st)
	texts(t, s)
	want.Read, want.Pending = n, 1000-n
	assert.Equal(t, want, statsOf(t, src))
	require.NoError(t, src.Detach())
	texts(t, s)
	texts(t, s) // which forgets what is read
	stats := MustStats(t, s)
	assert.Equal(t, live.Counts{Matched: 1000, Read: n, Lost: 1000 - n}, stats.Total())
}

// TestLostCounts: what a full ring has no room for is lost, and what it has is pending until it is read.
func TestLostCounts(t *testing.T) {
	k := newFakeKernel(0)
	s, id, src := k.attach(t, &Options{BufferSize: 1})
	const hits = 1000
	want := live.Counts{Name: "user_events:ev"}
	for range 2 {
		for range hits {
			k.hit(id, 0, 1, "text")
		}
		n := uint64(os.Getpagesize() / len(sampleBytes(1, 1, 1, 1, "text")))
		want.Matched, want.Lost, want.Pending = want.Matched+hits, want.Lost+hits-n, n
		assert.Equal(t, want, statsOf(t, src))
		assert.Len(t, texts(t, s), int(n))
		want.Read, want.Pending = want.Read+n, 0
		assert.Equal(t, want, statsOf(t, src))
	}
}

// TestDescriptorLimit: descriptors are counted before they are opened.
func TestDescriptorLimit(t *testing.T) {
	k := newFakeKernel(0, 1)
	k.limit = 7
	s, _, first := k.attach(t, nil) // 2 for rings, 2 for the event
	stats := MustStats(t, s)
	assert.Equal(t, 3, stats.Descriptors)
	mustAttach(t, s, "ev", nil)
	_, err := s.Attach("ev", nil)
	assert.ErrorIs(t, err, errno.EMFILE)
	assert.ErrorContains(t, err, "2 descriptors are needed for 2 CPUs, and 1 are left")
	require.NoError(t, first.Detach())
	require.NoError(t, mustAttach(t, s, "ev", nil).Detach())
}

// TestFilterRefused: the kernel's errors -1, -2 and -3 for filters do not become EPERM, ENOENT or ESRCH.
func TestFilterRefused(t *testing.T) {
	for _, err := range []error{errno.EINVAL, errno.EPERM, errno.ENOENT, errno.ESRCH} {
		k := newFakeKernel(0, 1)
		s, fs := k.start(t, nil)
		fs.add("user_events", "ev")
		k.filterFail = err
		_, err := s.Attach("ev", &AttachOptions{Filter: "(a == 1"})
		assert.ErrorIs(t, err, errno.EINVAL)
		assert.ErrorContains(t, err, `filter "(a == 1"`)
		assert.NotContains(t, err.Error(), "CAP_PERFMON")
		assert.Len(t, k.events, 2, "the rings")
	}
}

// TestCPULater: a CPU that is listed before perf accepts it is tried again.
func TestCPULater(t *testing.T) {
	k := newFakeKernel(0)
	s, id, _ := k.attach(t, nil)
	k.cpus = append(k.cpus, cpu{1, 1})
	k.refuse = func(_ sys.PerfAttr, cpu int) error {
		if cpu == 1 {
			return errno.ENODEV
		}
		return nil
	}
	s.Look()
	other := mustAttach(t, s, "ev", nil)
	k.refuse = nil
	k.hit(id, 1, 1, "too early")
	s.Look()
	k.hit(id, 1, 2, "a")
	assert.Equal(t, []string{"a", "a"}, texts(t, s), "of two sources")

	// The CPU was offline for a moment: its events are new ones.
	k.cpus[1].since++
	k.hit(id, 1, 3, "missed")
	s.Look()
	stats := MustStats(t, s)
	assert.Equal(t, 2, stats.Rings, "it has its ring already")
	k.hit(id, 1, 4, "b")
	assert.Equal(t, []string{"b", "b"}, texts(t, s))
	k.hit(id, 0, 5, "c")
	assert.Equal(t, []string{"c", "c"}, texts(t, s), "of a CPU that stayed")
	st := statsOf(t, other)
	assert.Equal(t, live.Counts{Name: "user_events:ev", Matched: 3, Read: 3}, st)

	k.cpus = append(k.cpus, cpu{2, 1})
	k.refuse = func(sys.PerfAttr, int) error { return syscall.EACCES }
	s.Look()
	stats = MustStats(t, s)
	assert.ErrorIs(t, stats.CPUErr, syscall.EACCES)
}

// TestTasksLater: a CPU that is listed before perf accepts it has records of tasks again after the next poll.
func TestTasksLater(t *testing.T) {
	k := newFakeKernel(0)
	s, _ := k.start(t, &Options{Tasks: true})
	tasks := func() (n int) {
		for _, e := range k.events {
			if e.attr.Tasks && e.on && e.cpu == k.cpus[0] {
				n++
			}
		}
		return n
	}
	require.Equal(t, 1, tasks())
	k.cpus[0].since++
	k.refuse = func(sys.PerfAttr, int) error { return errno.ENODEV }
	s.Look()
	require.Zero(t, tasks())
	k.refuse = nil
	s.Look()
	assert.Equal(t, 1, tasks())
}

// TestFollowStatus: an event is attached once while it is listed.
func TestFollowStatus(t *testing.T) {
	k := newFakeKernel(0)
	s, fs := k.start(t, nil)
	fs.add("user_events", "a")
	fs.add("user_events_multi", "b.0")
	fs.status("a")
	var log []string
	var followed []*Source
	began := time.Now()
	require.NoError(t, s.Follow(func(e *tracefs.Event) *AttachOptions {
		log = append(log, "match "+e.String())
		return &AttachOptions{CountOnly: true}
	}, func(e *tracefs.Event, src *Source, err error) {
		if err != nil {
			log = append(log, "error "+e.String())
			return
		}
		log = append(log, "attached "+src.String())
		assert.Equal(t, len(followed) > 0, src.Gap() > 0, "%s: the first was there before", src)
		followed = append(followed, src)
	}))
	look := func(names ...string) []string {
		log = nil
		fs.status(names...)
		s.Look()
		return log
	}
	assert.Equal(t, []string{"match user_events:a", "attached user_events:a"}, log)
	assert.Empty(t, look("a"))
	assert.Equal(t, []string{"match user_events_multi:b.0", "attached user_events_multi:b.0"}, look("a", "b.0"))
	for range 2 {
		assert.Empty(t, look("gone"), "a name without an event, which may be a part of one with a newline")
	}
	fs.add("user_events", "gone")
	assert.Equal(t, []string{"match user_events:gone", "attached user_events:gone"}, look("gone"), "it is registered again")
	assert.Empty(t, look("gone"))
	assert.Equal(t, []string{"match user_events:a", "attached user_events:a"}, look("a"))
	for _, src := range followed {
		assert.LessOrEqual(t, src.Gap(), time.Since(began)) //nolint:forbidigo // holds on any machine
	}
	require.NoError(t, os.Remove(fs.dir+"/user_events_status"))
	s.Look()
	assert.Empty(t, look("a"))
	require.NoError(t, s.Stop())
	assert.Empty(t, look("a", "b.0"))
}

// TestFollowLater: an event that is not wanted yet is asked for at each poll.
func TestFollowLater(t *testing.T) {
	k := newFakeKernel(0)
	s, fs := k.start(t, nil)
	fs.add("user_events", "a")
	fs.status("a")
	later, asked, attached := true, 0, 0
	require.NoError(t, s.Follow(func(*tracefs.Event) *AttachOptions {
		asked++
		return &AttachOptions{CountOnly: true, Later: later}
	}, func(*tracefs.Event, *Source, error) { attached++ }))
	s.Look()
	assert.Equal(t, []int{2, 0}, []int{asked, attached})
	later = false
	s.Look()
	s.Look()
	assert.Equal(t, []int{3, 1}, []int{asked, attached})
}

// TestFollowRemoved: an event that is gone before it is attached is reported once, and attached when it is back.
func TestFollowRemoved(t *testing.T) {
	k := newFakeKernel(0)
	s, fs := k.start(t, nil)
	fs.add("user_events", "a")
	fs.status("a")
	remove := true
	var errs []error
	require.NoError(t, s.Follow(func(e *tracefs.Event) *AttachOptions {
		if remove {
			require.NoError(t, os.RemoveAll(e.Path()))
		}
		return &AttachOptions{}
	}, func(_ *tracefs.Event, _ *Source, err error) { errs = append(errs, err) }))
	for range 3 {
		s.Look()
	}
	require.Len(t, errs, 1)
	assert.ErrorIs(t, errs[0], os.ErrNotExist)
	remove = false
	fs.add("user_events", "a")
	for range 3 {
		s.Look()
	}
	require.Len(t, errs, 2)
	assert.NoError(t, errs[1])
}

// TestFollowRestart: an event that is detached, gone and registered again between two polls is attached again. The kernel
// has the time to remove one that no program has.
func TestFollowRestart(t *testing.T) {
	k := newFakeKernel(0)
	s, fs := k.start(t, nil)
	fs.add("user_events", "a")
	fs.add("user_events", "skipped")
	fs.status("a", "skipped")
	var followed []*Source
	want := true
	require.NoError(t, s.Follow(func(e *tracefs.Event) *AttachOptions {
		if e.Name() == "a" && want {
			return &AttachOptions{}
		}
		return nil
	}, func(_ *tracefs.Event, src *Source, err error) {
		require.NoError(t, err)
		followed = append(followed, src)
	}))
	for i := range 3 {
		require.Len(t, followed, i+1)
		require.NoError(t, followed[i].Detach())
		for range releasePolls - 1 {
			s.Look()
			require.Len(t, followed, i+1, "the kernel may be removing it")
		}
		s.Look()
	}
	assert.Positive(t, followed[1].Gap())
	require.Len(t, followed, 4)
	want = false
	require.NoError(t, followed[3].Detach())
	for range 2 * releasePolls {
		s.Look()
	}
	assert.Len(t, followed, 4, "it does not match any more")
}

// TestOverran: when records were lost, the session says that some may have been, also once it has read the ring; while there is room, it
// does not.
func TestOverran(t *testing.T) {
	k := newFakeKernel(0, 1)
	s, id, src := k.attach(t, nil)
	hit := func(n int) {
		for range n {
			k.hit(id, 1, uint64(k.mono), strings.Repeat("x", 1000))
		}
	}
	lost := func() uint64 {
		st := statsOf(t, src)
		return st.Lost
	}
	assert.False(t, s.Overran())
	hit(100)
	assert.False(t, s.Overran())
	assert.Len(t, texts(t, s), 100)
	assert.False(t, s.Overran())
	for range 3 { // the positions are others
		hit(600)
		require.Positive(t, lost())
		assert.True(t, s.Overran(), "it is full")
		assert.True(t, s.Overran(), "it still is")
		before := lost()
		hit(1)
		require.Equal(t, before+1, lost())
		texts(t, s)
		assert.True(t, s.Overran(), "it was")
		assert.False(t, s.Overran())
	}

	small, fs := newFakeKernel(0).start(t, &Options{BufferSize: 64 << 10})
	fs.add("user_events", "ev")
	mustAttach(t, small, "ev", nil)
	assert.True(t, small.Overran(), "there may be larger records")
}

// TestBackward reads a ring that is written from its end, around it and over it.
func TestBackward(t *testing.T) {
	k := newFakeKernel(0)
	s, id, src := k.attach(t, &Options{Overwrite: true, BufferSize: 1})
	take := func() (list []string) {
		require.NoError(t, s.Snapshot(func(r *live.Record) error {
			list = append(list, textOf(r))
			return nil
		}))
		return list
	}
	k.hit(id, 0, 1, "a")
	k.hit(id, 0, 2, "bcdefghijklmnop")
	assert.Equal(t, []string{"a", "bcdefghijklmnop"}, take())
	long := strings.Repeat("x", 1000)
	for i := range 1000 {
		k.hit(id, 0, uint64(i), long)
	}
	n := len(take())
	assert.InDelta(t, (minOverwrite-unsafePart)/len(sampleBytes(1, 1, 1, 1, long)), n, 1)
	st := statsOf(t, src)
	assert.Equal(t, live.Counts{Name: "user_events:ev", Matched: 1002, Read: uint64(n) + 2, Overwritten: uint64(1000 - n)}, st)
	assert.Empty(t, take())
	k.hit(id, 0, 2001, "z")
	assert.Equal(t, []string{"z"}, take())
	st = statsOf(t, src)
	assert.Equal(t, live.Counts{Name: "user_events:ev", Matched: 1003, Read: uint64(n) + 3, Overwritten: uint64(1000 - n)}, st)
}

// TestArguments: invalid arguments are errors without a call of the kernel.
func TestArguments(t *testing.T) {
	k := newFakeKernel(0)
	s, fs := k.start(t, nil)
	fs.add("user_events", "ev")
	assert.ErrorIs(t, s.Snapshot(func(*live.Record) error { return nil }), errno.EINVAL)
	for _, filter := range []string{" ", "a\nb", "a\x00"} {
		_, err := s.Attach("ev", &AttachOptions{Filter: filter})
		assert.ErrorIs(t, err, errno.EINVAL, "%q", filter)
	}
}
