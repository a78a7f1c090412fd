package reader

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// TestReaderChangedFields: a program exits and starts again with other fields. While attached, the event outlives the
// program, which is reported; with DetachAtExit, the reader detaches.
func TestReaderChangedFields(t *testing.T) {
	register := func(m *machine, p *uevents.Provider, fields string) *uevents.Event {
		ev, err := p.Register(tracepoint.MustParse("myapp_x "+fields), &uevents.EventOptions{Naming: uevents.NameExact})
		require.NoError(m.t, err)
		return ev
	}
	write := func(m *machine, ev *uevents.Event, size int) {
		written, err := ev.WriteRecord(make([]byte, 4+size))
		require.NoError(m.t, err)
		require.True(m.t, written)
	}
	run := func(o Options) (*machine, *Reader) {
		m := newMachine(t)
		p := m.kernel.Provider()
		ev := register(m, p, "u64 a")
		r := m.mustOpen(o)
		write(m, ev, 8)
		require.NoError(t, p.Close())
		m.task(exit(812))
		assert.Len(t, m.read(r), 1)
		require.NotEmpty(t, m.notices)
		assert.Equal(t, NoticeNoWriter, m.notices[0].Kind)
		return m, r
	}
	m, _ := run(Options{})
	assert.Equal(t, []string{"myapp_x"}, m.attached())
	_, err := m.program().Register(tracepoint.MustParse("myapp_x u32 b"), &uevents.EventOptions{Naming: uevents.NameExact})
	assert.ErrorIs(t, err, uevents.ErrConflict)

	m, r := run(Options{DetachAtExit: true})
	testscale.Eventually(t, func() bool { m.read(r); return len(m.notices) == 2 }, "the event is not detached")
	assert.Equal(t, NoticeDetached, m.notices[1].Kind)
	assert.NoError(t, m.notices[1].Err)
	assert.Empty(t, m.attached())
	ev := register(m, m.program(), "u32 b; u32 c")
	m.look()
	require.Len(t, m.attached(), 1, "it is attached again")
	write(m, ev, 8)
	records := 0 // the session delivers records of an event before it reports that it has attached to it
	testscale.Eventually(t, func() bool { records += len(m.read(r)); return records == 1 && len(m.notices) == 3 }, "no record and no notice")
	assert.Equal(t, NoticeAttached, m.notices[2].Kind)
	r.lookAtLosses()
	assert.Len(t, r.events, 1, "the first is forgotten")
}

// TestReaderWriters: an event has ended when all processes that wrote it have exited.
func TestReaderWriters(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{})
	l.Info("one")
	m.task(&live.Record{Kind: live.Exit, PID: 812, TID: 813}) // a thread
	m.pid = 900
	l.Info("two")
	m.task(exit(812))
	m.task(exit(5))
	assert.Len(t, m.read(r), 2)
	assert.Empty(t, m.notices)
	m.task(exit(900))
	m.read(r)
	require.Len(t, m.notices, 1)
	assert.Equal(t, "user_events:myapp_info", m.notices[0].Event)
}

// TestReaderStillRegistered: an event that another program has registered is attached again after the exit of its writer.
func TestReaderStillRegistered(t *testing.T) {
	m := newMachine(t)
	p := m.kernel.Provider()
	l := m.logger(p, "myapp")
	m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Selection: Selection{Events: []string{"*_info"}}, DetachAtExit: true})
	l.Info("one")
	require.NoError(t, p.Close())
	m.task(exit(812))
	testscale.Eventually(t, func() bool { m.read(r); return len(m.notices) == 2 }, "the event is not detached")
	m.look()
	m.read(r)
	require.Len(t, m.notices, 3, "it is attached again")
	for i, kind := range []NoticeKind{NoticeNoWriter, NoticeDetached, NoticeAttached} {
		assert.Equal(t, kind, m.notices[i].Kind)
	}
	assert.Equal(t, []string{"myapp_info"}, m.attached())
}

// TestReaderMostWriters: the end of an event is noticed up to the limit of its writers.
func TestReaderMostWriters(t *testing.T) {
	for writers, want := range map[int32]int{maxWriters: 1, maxWriters + 1: 0} {
		m := newMachine(t)
		l := m.logger(m.program(), "myapp")
		r := m.mustOpen(Options{Selection: Selection{Events: []string{"*_info"}}})
		for m.pid = 1000; m.pid < 1000+writers; m.pid++ {
			l.Info("many")
			m.read(r)
		}
		for pid := int32(1000); pid < 1000+writers; pid++ {
			m.task(exit(pid))
		}
		m.read(r)
		assert.Len(t, m.notices, want, "%d writers", writers)
	}
}

// TestReaderLeaderExits: a process goes on while it has threads, also when the one it began with has exited.
func TestReaderLeaderExits(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{})
	threads := filepath.Join(m.proc, "812", "task")
	for _, tid := range []string{"812", "813"} {
		require.NoError(t, os.MkdirAll(filepath.Join(threads, tid), 0o700))
	}
	l.Info("one")
	m.task(exit(812))
	l.Info("two")
	assert.Len(t, m.read(r), 2)
	r.look(r.tickAt)
	m.read(r)
	assert.Empty(t, m.notices)
	require.NoError(t, os.Remove(filepath.Join(threads, "813")))
	m.task(&live.Record{Kind: live.Exit, PID: 812, TID: 813})
	r.look(r.tickAt)
	r.look(r.tickAt)
	m.read(r)
	assert.Empty(t, m.notices, "its last records may be unread")
	m.until = math.MaxUint64
	r.look(r.tickAt)
	m.read(r)
	assert.Equal(t, []int32{812}, m.exited)
	require.Len(t, m.notices, 1)
	assert.Equal(t, NoticeNoWriter, m.notices[0].Kind)
	r.look(r.tickAt)
	m.read(r)
	assert.Len(t, m.notices, 1)
}

// TestReaderOtherNamespace: processes that are not in the PID namespace of the session have the id 0, in records of events and of tasks. The
// end of one is not the end of another, and neither is its name.
func TestReaderOtherNamespace(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{DetachAtExit: true})
	before := m.attached()
	l.Info("zero")
	m.task(exit(5))
	m.pid = 0
	l.Info("one")
	m.task(&live.Record{Kind: live.Fork})
	m.task(&live.Record{Kind: live.Exec, Comm: []byte("other")})
	m.task(exit(0))
	m.task(exit(812))
	l.Info("two")
	r.SetDeadline(time.Now().Add(-1))
	for _, want := range [][2]string{{"zero", "myapp"}, {"one", ""}, {"two", ""}} {
		var ev record.Record
		require.NoError(t, r.Next(&ev))
		assert.Equal(t, want, [2]string{ev.Message, ev.Process.Program()})
	}
	assert.Empty(t, m.notices, "the program still runs")
	assert.Equal(t, before, m.attached())
}

// TestReaderExited: a process that wrote records is reported when it has exited or executes another program, after its records and before those of
// the next process with its id. Others are not reported.
func TestReaderExited(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{})
	next := func(message string, exited ...int32) {
		t.Helper()
		var ev record.Record
		require.NoError(t, r.Next(&ev))
		assert.Equal(t, message, ev.Message)
		assert.Equal(t, exited, m.exited)
		m.exited = nil
	}
	l.Info("first")
	m.task(fork(812, 900))
	m.task(exec(900, "quiet"))
	m.task(exit(900))
	m.task(fork(812, 812)) // a thread
	m.task(&live.Record{Kind: live.Exit, PID: 812, TID: 813})
	l.Info("last of the process")
	m.task(exit(812))
	m.task(fork(1, 812))
	l.Info("first of another")
	m.task(exec(812, "next"))
	l.Info("of the next program")
	// The record of its exit is lost.
	m.task(fork(1, 812))
	l.Info("of a third process")
	m.pid = 0 // in another PID namespace
	l.Info("of none")
	m.task(exit(0))
	m.task(exit(812))
	l.Info("of none")
	next("first")
	next("last of the process")
	next("first of another", 812)
	next("of the next program", 812)
	next("of a third process", 812)
	next("of none")
	next("of none") // its writers are not known any more
}

// TestReaderLostExits: when records of exits are lost, the writers that are gone are found in /proc, which shows them before.
func TestReaderLostExits(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	proc := fakeProc{t, m.proc}
	proc.add(900, "myapp", "/usr/bin/myapp", "/")
	r := m.mustOpen(Options{})
	for _, m.pid = range []int32{812, 900, 901} { // /proc hides the last one
		l.Info("one")
		m.read(r)
	}
	m.until = math.MaxUint64
	proc.remove(812)
	look := func() {
		m.lost["user_events:myapp_info"]++
		for range 2 {
			r.look(r.tickAt)
		}
		m.read(r)
	}
	look()
	assert.Empty(t, m.exited)
	m.stats.LostTaskRecords = 1
	look()
	assert.Equal(t, []int32{812}, m.exited)
	proc.remove(900)
	look()
	assert.Equal(t, []int32{812}, m.exited, "no further records are lost")
	m.task(exit(900))
	m.read(r)
	assert.Equal(t, []int32{812, 900}, m.exited)
	assert.Len(t, m.notices, 3, "losses, and no end of the event")
}
