package perf

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// fakeKernel has perf events without a kernel. It writes records into rings like __perf_output_begin in the kernel's
// kernel/events/ring_buffer.c.
type fakeKernel struct {
	mu         sync.Mutex
	cpus       []cpu
	events     []*fakeEvent
	lastID     uint64
	mono       int64
	limit      int // of descriptors
	refuse     func(sys.PerfAttr, int) error
	maxRing    int // larger ones are refused
	available  uint64
	memoryErr  error
	room       int // bytes of all rings; 0 means any number
	closed     bool
	filterFail error
	enableFail error
	waited     []int // milliseconds of each wait
	reads      int   // of counts
	woken      int
	step       int64 // nanoseconds that pass from one look at the clock to the next
}

func newFakeKernel(cpus ...int) *fakeKernel {
	k := &fakeKernel{limit: 1000, maxRing: 1 << 30, available: 1 << 40, mono: 1e9}
	for _, n := range cpus {
		k.cpus = append(k.cpus, cpu{n, 1})
	}
	return k
}

// start returns a session on the kernel, which polls only on request.
func (k *fakeKernel) start(t *testing.T, o *Options) (*Session, *fakeTracefs) {
	t.Helper()
	fs := newFakeTracefs(t)
	c := o.withDefaults()
	c.Poll = 1 << 60
	limit := k.limit
	s, err := open(tracefs.At(fs.dir), c, k)
	require.NoError(t, err)
	t.Cleanup(func() {
		if !s.isClosed() {
			k.requireCounts(t, s, limit)
		}
		require.NoError(t, s.Close())
		k.mu.Lock()
		defer k.mu.Unlock()
		require.Empty(t, k.events, "descriptors")
		require.True(t, k.closed)
	})
	return s, fs
}

// attach is start with an event attached, user_events:ev, whose number in tracefs it returns.
func (k *fakeKernel) attach(t *testing.T, o *Options) (*Session, int, *Source) {
	t.Helper()
	s, fs := k.start(t, o)
	id := fs.add("user_events", "ev")
	return s, id, mustAttach(t, s, "ev", nil)
}

// requireCounts checks what a session counts: the descriptors that are left, those of each source, and those that are disabled.
func (k *fakeKernel) requireCounts(t *testing.T, s *Session, limit int) {
	t.Helper()
	s.attach.Lock()
	defer s.attach.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Equal(t, limit-len(k.events), s.free, "descriptors that are left")
	for _, d := range s.byID {
		require.Contains(t, d.source.descriptors, d)
		require.Equal(t, d.disabled, slices.Contains(s.leaving, d))
	}
}

func (k *fakeKernel) online() ([]cpu, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.cpus), nil
}

func (k *fakeKernel) files() (int, error) { return k.limit, nil }

func (k *fakeKernel) open(a sys.PerfAttr, number int) (event, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refuse != nil {
		if err := k.refuse(a, number); err != nil {
			return nil, err
		}
	}
	i := slices.IndexFunc(k.cpus, func(c cpu) bool { return c.number == number })
	if i < 0 {
		return nil, errno.ENODEV
	}
	k.lastID++
	e := &fakeEvent{k: k, attr: a, cpu: k.cpus[i], counts: sys.PerfCounts{ID: k.lastID}}
	k.events = append(k.events, e)
	return e, nil
}

// wait lets the time pass.
func (k *fakeKernel) wait(ms int) error {
	k.mu.Lock()
	k.mono += int64(ms) * 1e6
	k.waited = append(k.waited, ms)
	k.mu.Unlock()
	return nil
}

func (k *fakeKernel) wake() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.woken++
	return nil
}

func (k *fakeKernel) clocks() (mono, wall int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mono += k.step
	return k.mono, k.mono + 1e18
}

func (k *fakeKernel) close() error {
	k.closed = true
	return nil
}

// hit is a hit of a tracepoint on a CPU.
func (k *fakeKernel) hit(tracepoint, cpu int, time uint64, text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range slices.Backward(k.events) { // the newest first
		if e.on && e.attr.Tracepoint == uint64(tracepoint) && e.cpu.number == cpu && slices.Contains(k.cpus, e.cpu) {
			e.counts.Matched++
			if !e.attr.CountOnly {
				e.output(sampleBytes(e.counts.ID, 100, 101, time, text))
			}
		}
	}
}

type fakeEvent struct {
	k      *fakeKernel
	attr   sys.PerfAttr
	cpu    cpu
	on     bool
	filter string
	counts sys.PerfCounts
	ring   *ring
	owner  *fakeEvent
}

// output writes a record into the event's ring, or counts it as lost.
func (e *fakeEvent) output(record []byte) {
	owner := e.owner
	head, tail := owner.ring.head.Load(), owner.ring.tail.Load()
	n := uint64(len(record))
	if !e.attr.Backward && head+n-tail > uint64(len(owner.ring.data)) {
		if e.attr.Lost {
			e.counts.Lost++
		}
		return
	}
	pos := head
	if e.attr.Backward {
		head -= n
		pos = head
	} else {
		head += n
	}
	for i, c := range record {
		owner.ring.data[(pos+uint64(i))%uint64(len(owner.ring.data))] = c
	}
	owner.ring.head.Store(head)
}

func (e *fakeEvent) read() (sys.PerfCounts, error) {
	e.k.mu.Lock()
	defer e.k.mu.Unlock()
	e.k.reads++
	return e.counts, nil
}

func (e *fakeEvent) enable(on bool) error {
	e.k.mu.Lock()
	defer e.k.mu.Unlock()
	e.on = on
	return e.k.enableFail
}

func (e *fakeEvent) setFilter(filter string) error {
	if e.filter != "" {
		return errno.EINVAL
	}
	e.filter = filter
	return e.k.filterFail
}

func (e *fakeEvent) setOutput(to event) error {
	e.owner = to.(*fakeEvent)
	if e.owner.ring == nil || e.owner.cpu.number != e.cpu.number || e.owner.attr.Backward != e.attr.Backward {
		return errno.EINVAL
	}
	return nil
}

func (k *fakeKernel) memory() (uint64, error) { return k.available, k.memoryErr }

func (e *fakeEvent) mapRing(size int, overwrite bool) (*ring, error) {
	total := size
	for _, other := range e.k.events {
		if other.ring != nil {
			total += len(other.ring.data)
		}
	}
	if size > e.k.maxRing || e.k.room > 0 && total > e.k.room {
		return nil, errno.EPERM
	}
	if overwrite != e.attr.Backward {
		return nil, errno.EINVAL
	}
	e.ring = newRing(size)
	return e.ring, nil
}

func (e *fakeEvent) close() error {
	e.k.mu.Lock()
	defer e.k.mu.Unlock()
	i := slices.Index(e.k.events, e)
	if i < 0 {
		return errno.EBADF
	}
	e.k.events = slices.Delete(e.k.events, i, i+1)
	return nil
}

func newRing(size int) *ring {
	return &ring{data: make([]byte, size), head: new(atomic.Uint64), tail: new(atomic.Uint64)}
}

// WithoutLostCounts makes a session work as before Linux 6.0. Call it before Attach.
func (s *Session) WithoutLostCounts() { s.noLost = true }

// Waiting reports whether ReadInto waits for the kernel.
func (s *Session) Waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// Look polls once; the session polls itself every Options.Poll.
func (s *Session) Look() { s.look() }

// Stats returns the counts of a source, also of one that Session.Stats only has in a sum.
func (src *Source) Stats() (live.Counts, error) {
	s := src.session
	_, err := s.Stats()
	s.mu.Lock()
	defer s.mu.Unlock()
	return src.stats(), err
}
