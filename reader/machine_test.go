package reader

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// machine is a simulated kernel with a tracefs, a /proc, and a session that reads the programs' records.
type machine struct {
	t      *testing.T
	kernel *ueventstest.Kernel
	tracefs,
	proc string
	notices []Notice // delivered by the reader, but for those of processes
	exited  []int32  // processes of the others

	mu sync.Mutex
	// Guarded by mu:
	sources        []*fakeSource
	queue          []live.Record
	chain          [1]uint64 // Callchain of the last record: its number
	pid            int32     // of the current program
	follow         func()
	followed       map[string]*fakeSource // the events that the follower knows; nil for those that it has not attached
	refuseToFollow error
	deadline       time.Time
	stopped        bool
	closed         bool
	stats          live.Stats // counts without a source
	lost           map[string]uint64
	known          uint64 // of lost, at the last Overran
	counted        int    // calls of Stats
	refuse         error
	refusePause    error         // of pausing
	refuseNames    string        // substring of names to refuse
	seen           time.Duration // gap of all sources
	early          bool          // the session has a record of an event before it reports it
	until          uint64        // time of the records that were read
}

type fakeSource struct {
	m      *machine
	paused bool
	pauses uint64

	event *tracefs.Event
	tool  *ueventstest.Tool
	o     perf.AttachOptions
}

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, kernel: ueventstest.New(t, nil), tracefs: t.TempDir(), proc: t.TempDir(), pid: 812, lost: map[string]uint64{}}
	m.stats.CPUs, m.stats.Descriptors, m.stats.Rings = 2, 1000, 2
	fakeProc{t, m.proc}.add(812, "myapp", "/usr/bin/myapp", "/system.slice/myapp.service")
	m.refresh()
	return m
}

// program returns a provider on the machine's kernel.
func (m *machine) program() *uevents.Provider {
	p := m.kernel.Provider()
	m.t.Cleanup(func() { require.NoError(m.t, p.Close()) })
	return p
}

// refresh writes the files of the tracefs.
func (m *machine) refresh() {
	require.NoError(m.t, os.WriteFile(filepath.Join(m.tracefs, "user_events_status"), []byte(m.kernel.Status()), 0o600))
	for _, system := range []string{tracepoint.System, tracepoint.MultiSystem} {
		require.NoError(m.t, os.RemoveAll(filepath.Join(m.tracefs, "events", system)))
		require.NoError(m.t, os.MkdirAll(filepath.Join(m.tracefs, "events", system), 0o700))
	}
	for _, e := range m.kernel.Events() {
		text, err := m.kernel.Format(e.Name)
		require.NoError(m.t, err)
		m.addEvent(tracepoint.System, e.Name, text)
	}
}

// addEvent writes the files of an event.
func (m *machine) addEvent(system, name, format string) {
	dir := filepath.Join(m.tracefs, "events", system, name)
	require.NoError(m.t, os.MkdirAll(dir, 0o700))
	require.NoError(m.t, os.WriteFile(filepath.Join(dir, "format"), []byte(format), 0o600))
	require.NoError(m.t, os.WriteFile(filepath.Join(dir, "id"), []byte("7\n"), 0o600))
}

// open is Open on the machine, by default for all user events.
func (m *machine) open(o Options) (*Reader, error) {
	m.refresh()
	if o.Events == nil {
		o.Events = []string{"*"}
	}
	o.Notify = func(n Notice) {
		if n.Kind == NoticeExited {
			m.exited = append(m.exited, n.PID)
			return
		}
		m.notices = append(m.notices, n)
	}
	o.Tracefs = m.tracefs
	r, err := newReader(&o, m.proc)
	if err != nil {
		return nil, err
	}
	r.source, r.kernel = m, m
	r.lookAtTexts()
	if err := r.start(nil); err != nil {
		return nil, err
	}
	r.tickAt = time.Now().Add(time.Hour) // the tests say when it looks for losses
	r.SetDeadline(time.Time{})
	m.t.Cleanup(func() { require.NoError(m.t, r.Close()) })
	return r, nil
}

func (m *machine) mustOpen(o Options) *Reader {
	m.t.Helper()
	r, err := m.open(o)
	require.NoError(m.t, err)
	return r
}

// attached returns the names of the session's events.
func (m *machine) attached() (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sources {
		names = append(names, strings.TrimPrefix(s.event.String(), "user_events:"))
	}
	slices.Sort(names)
	return names
}

// look polls for new events, like the session.
func (m *machine) look() {
	m.refresh()
	m.follow()
}

// collect takes the programs' records since the last call.
func (m *machine) collect() {
	type sample struct {
		s   *fakeSource
		rec ueventstest.Record
	}
	var samples []sample
	for _, s := range m.sources {
		if s.tool == nil { // no program writes it
			continue
		}
		for _, rec := range s.tool.Records() {
			samples = append(samples, sample{s, rec})
		}
	}
	slices.SortStableFunc(samples, func(a, b sample) int { return int(a.rec.Seq) - int(b.rec.Seq) })
	for _, x := range samples {
		if only := x.s.o.Processes; only != nil && !only[m.pid] {
			continue
		}
		m.queue = append(m.queue, live.Record{
			Kind: live.Sample, Time: x.rec.Time, Monotonic: uint64(x.rec.Time.UnixNano()), CPU: 1, PID: m.pid, TID: m.pid + 1, Tag: x.s.o.Tag,
			Raw: append(append(make([]byte, tracepoint.CommonSize), x.rec.Payload...), 0xcc, 0xcc, 0xcc),
		})
	}
}

// task appends a record of a task to the written ones.
func (m *machine) task(r *live.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.collect()
	m.queue = append(m.queue, *r)
}

// read returns the results of Next until no record is ready.
func (m *machine) read(r *Reader) (messages []string) {
	m.t.Helper()
	r.SetDeadline(time.Now().Add(-1))
	for ev := (record.Record{}); ; {
		err := r.Next(&ev)
		if err != nil {
			require.ErrorIs(m.t, err, os.ErrDeadlineExceeded)
			return messages
		}
		messages = append(messages, strings.TrimSpace(ev.Severity.String()+" "+ev.Message+ev.EventName))
	}
}

func (m *machine) Attach(name string, o *perf.AttachOptions) (attached, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.attach(name, o)
}

func (m *machine) attach(name string, o *perf.AttachOptions) (*fakeSource, error) {
	e := tracefs.At(m.tracefs).Event(name)
	if m.refuse != nil && strings.Contains(name, m.refuseNames) {
		return nil, fmt.Errorf("attaching to event %s: %w", e, m.refuse)
	}
	if m.closed || m.stopped {
		return nil, fmt.Errorf("attaching to event %s: %w", e, os.ErrClosed)
	}
	s := &fakeSource{m: m, event: e, o: *o}
	if isUserEvents(e.System()) {
		var err error
		if s.tool, err = m.kernel.Attach(ueventstest.Perf, e.Name()); err != nil {
			return nil, err
		}
	} else if ok, err := e.Exists(); err != nil || !ok {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	m.sources = append(m.sources, s)
	return s, nil
}

func (m *machine) Follow(match func(*tracefs.Event) *perf.AttachOptions, report func(*tracefs.Event, attached, error)) error {
	if m.refuseToFollow != nil {
		return m.refuseToFollow
	}
	m.followed = map[string]*fakeSource{}
	dir := tracefs.At(m.tracefs)
	m.follow = func() {
		now := map[string]*fakeSource{}
		for _, e := range m.kernel.Events() {
			name := tracepoint.System + ":" + e.Name
			m.mu.Lock()
			src, known := m.followed[name]
			m.mu.Unlock()
			if now[name] = src; known {
				continue
			}
			event := dir.Event(name)
			if o := match(event); o != nil && o.Later {
				delete(now, name)
			} else if o != nil {
				m.mu.Lock()
				src, err := m.attach(name, o)
				m.mu.Unlock()
				now[name] = src
				report(event, src, err)
			}
		}
		m.mu.Lock()
		m.followed = now
		m.mu.Unlock()
	}
	if !m.early {
		m.follow()
	}
	return nil
}

func (m *machine) ReadInto(r *live.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		m.collect()
		switch {
		case m.closed:
			return os.ErrClosed
		case len(m.queue) > 0:
			for i := range r.Raw { // the rings have other records
				r.Raw[i] = '#'
			}
			*r = m.queue[0]
			m.chain[0]++
			r.Callchain = m.chain[:]
			m.queue = m.queue[1:]
			return nil
		case m.stopped:
			return io.EOF
		case !m.deadline.IsZero() && !time.Now().Before(m.deadline):
			return os.ErrDeadlineExceeded
		}
		m.mu.Unlock()
		time.Sleep(time.Millisecond) //nolint:forbidigo // the poll interval, until the deadline that the test sets
		m.mu.Lock()
	}
}

// Snapshot is the method of a session whose rings hold all records.
func (m *machine) Snapshot(f func(*live.Record) error) error {
	m.mu.Lock()
	m.collect()
	queue := m.queue
	m.queue = nil
	m.mu.Unlock()
	for i := range queue {
		if err := f(&queue[i]); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) SetDeadline(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.deadline = t
}

func (m *machine) State() live.State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.stats.State
}

func (m *machine) Stats() (live.Stats, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counted++
	st := m.stats
	for _, s := range m.sources {
		st.Sources = append(st.Sources, live.Counts{Name: s.event.String(), Lost: m.lost[s.event.String()], CountOnly: s.o.CountOnly, Pauses: s.pauses, Paused: time.Duration(s.pauses) * time.Millisecond})
	}
	return st, nil
}

// Overran reports losses that Stats has and did not have at the last call.
func (m *machine) Overran() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	var lost uint64
	for _, n := range m.lost {
		lost += n
	}
	overran := lost != m.known
	m.known = lost
	return overran
}

func (m *machine) Stop() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.collect()
	m.stopped = true
	return nil
}

func (m *machine) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for _, s := range m.sources {
		if s.tool != nil {
			s.tool.Detach()
		}
	}
	return nil
}

func (s *fakeSource) Detach() error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.collect()
	i := slices.Index(s.m.sources, s)
	if i < 0 {
		return errno.EBADF
	}
	if s.tool != nil {
		s.tool.Detach()
	}
	maps.DeleteFunc(s.m.followed, func(_ string, other *fakeSource) bool { return other == s })
	s.m.sources = slices.Delete(s.m.sources, i, i+1)
	return nil
}

// Pause detaches from the event, whose records are read.
func (s *fakeSource) Pause() error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.m.collect()
	s.tool.Detach()
	s.paused = true
	s.pauses++
	return s.m.refusePause
}

func (s *fakeSource) Resume() error {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	if !s.paused {
		return nil
	}
	s.paused = false
	if s.m.refuse != nil {
		return s.m.refuse
	}
	tool, err := s.m.kernel.Attach(ueventstest.Perf, s.event.Name())
	if err != nil {
		return errors.Join(err, fs.ErrNotExist)
	}
	s.tool = tool
	return nil
}

func (s *fakeSource) SetProcesses(pids map[int32]bool) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.o.Processes = pids
}

func (s *fakeSource) Gap() time.Duration { return s.m.seen }

// Complete reports whether the event is detached: its records are in the queue, and are read as well.
func (s *fakeSource) Complete() bool {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	return !slices.Contains(s.m.sources, s)
}

func (m *machine) Delivered() uint64 { return m.until }

func (m *machine) AskAgain() {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.followed, func(_ string, src *fakeSource) bool { return src == nil })
}

// condition parses a condition that is right.
func condition(text string) *where.Condition {
	c, err := where.Parse(text)
	if err != nil {
		panic(err)
	}
	return c
}
