package reader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/sloghandler"
)

// messagesOf returns the messages of events that were kept.
func messagesOf(kept []*record.Record) (messages []string) {
	for _, ev := range kept {
		messages = append(messages, ev.Message)
	}
	return messages
}

// TestEvents: the loop has each record in an event of its own, and ends after Stop, and after Close, without an error.
func TestEvents(t *testing.T) {
	for name, end := range map[string]func(*Reader) error{"Stop": (*Reader).Stop, "Close": (*Reader).Close} {
		m := newMachine(t)
		l := m.logger(m.program(), "myapp")
		r := m.mustOpen(Options{})
		for _, message := range []string{"one", "two", "three"} {
			l.Info(message, "key", message)
		}
		var kept []*record.Record
		for ev, err := range r.Events(t.Context()) {
			require.NoError(t, err)
			if kept = append(kept, ev); len(kept) == 3 {
				require.NoError(t, end(r))
			}
		}
		assert.Equal(t, []string{"one", "two", "three"}, messagesOf(kept), name)
		for i, ev := range kept {
			assert.Equal(t, []uint64{uint64(i + 1)}, ev.Callchain)
			v, _ := ev.Lookup("key")
			assert.Equal(t, ev.Message, v.Text())
			assert.Contains(t, string(ev.Raw), ev.Message)
			assert.Equal(t, "myapp", ev.Process.Comm)
		}
	}
}

// TestEventsReuse: with reuse there is one event, and a clone of it stays as it is.
func TestEventsReuse(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Reuse: true})
	l.Info("one")
	l.Info("two")
	require.NoError(t, r.Stop())
	var events, clones []*record.Record
	for ev, err := range r.Events(t.Context()) {
		require.NoError(t, err)
		events, clones = append(events, ev), append(clones, ev.Clone())
	}
	require.Len(t, events, 2)
	assert.Same(t, events[0], events[1])
	assert.Equal(t, []string{"one", "two"}, messagesOf(clones))
}

// TestEventsContext: the loop ends when its context is done, before it or while it waits, and the next one has what is left.
func TestEventsContext(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{})
	l.Info("one")
	l.Info("two")
	l.Info("three")
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range r.Events(done) {
		t.Error("the context is done", err)
	}
	var kept []*record.Record
	ctx, cancel := context.WithCancel(t.Context())
	for ev, err := range r.Events(ctx) {
		require.NoError(t, err)
		kept = append(kept, ev)
		cancel()
	}
	for ev, err := range r.Events(t.Context()) {
		require.NoError(t, err)
		kept = append(kept, ev)
		break
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	for ev, err := range r.Events(ctx) { // waits for more
		require.NoError(t, err)
		kept = append(kept, ev)
		go cancel()
	}
	assert.Equal(t, []string{"one", "two", "three"}, messagesOf(kept))

	// Next waits as before.
	r.SetDeadline(time.Now().Add(time.Hour))
	m.mu.Lock()
	assert.False(t, m.deadline.Before(time.Now()))
	m.mu.Unlock()
	l.Info("four")
	var ev record.Record
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "four", ev.Message)
}

// TestEventsContextOfUnselected: the end of the context does not wait for a selected record.
func TestEventsContextOfUnselected(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Selection: Selection{Where: condition(`not (message =~ "^not")`)}})
	for range 100 {
		l.Info("not selected")
	}
	r.interrupt(true)
	assert.ErrorIs(t, r.Next(new(record.Record)), os.ErrDeadlineExceeded)
	assert.Equal(t, uint64(1), r.unselected.Load())
}

// TestEventsError: an error is the last element.
func TestEventsError(t *testing.T) {
	m := newMachine(t)
	r := m.mustOpen(Options{})
	r.SetDeadline(time.Now().Add(-1))
	n := 0
	for ev, err := range r.Events(t.Context()) {
		assert.Nil(t, ev)
		assert.ErrorIs(t, err, os.ErrDeadlineExceeded)
		n++
	}
	assert.Equal(t, 1, n)
}

// TestEventsConcurrent: contexts, deadlines, Stop and Close may come at any moment, and kept events may be read.
func TestEventsConcurrent(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{})
	var kept sync.WaitGroup
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		l.Info("hello")
		for ev, err := range r.Events(ctx) {
			require.NoError(t, err)
			kept.Go(func() {
				assert.Equal(t, "hello", ev.Clone().Message)
				cancel()
				r.SetDeadline(time.Time{})
			})
		}
		cancel()
	}
	go func() { assert.NoError(t, r.Stop()) }()
	go func() { assert.NoError(t, r.Close()) }()
	for _, err := range r.Events(t.Context()) {
		require.NoError(t, err)
	}
	kept.Wait()
}

// TestSnapshot: a snapshot has each selected record once, decoded.
func TestSnapshot(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Read: ReadSnapshot, Selection: Selection{Where: condition("not (level <= info and tid > 0)")}})
	snapshot := func() (got []string) {
		require.NoError(t, r.Snapshot(func(ev *record.Record) error {
			assert.Equal(t, "myapp", ev.Process.Comm)
			got = append(got, ev.Severity.String()+" "+ev.Message)
			return nil
		}))
		return got
	}
	assert.Empty(t, snapshot())
	logAll(l)
	assert.Equal(t, []string{"WARN hello", "ERROR hello"}, snapshot())
	assert.Empty(t, snapshot())
	l.Warn("request", "status", 200)
	assert.Equal(t, []string{"WARN "}, snapshot(), "without the copy")
	logAll(l)
	enough := errors.New("enough")
	assert.ErrorIs(t, r.Snapshot(func(*record.Record) error { return enough }), enough)
	st, err := r.Stats()
	require.NoError(t, err)
	assert.Equal(t, uint64(4), st.Selected)
	assert.Equal(t, uint64(4), st.Unselected)
	assert.Equal(t, uint64(1), st.Copies)
}

// TestNoPlaceForEvents: without a place for events, nothing is read.
func TestNoPlaceForEvents(t *testing.T) {
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{})
	l.Warn("hello")
	assert.ErrorIs(t, r.Next(nil), fs.ErrInvalid)
	assert.ErrorIs(t, r.Snapshot(nil), fs.ErrInvalid)
	var ev record.Record
	require.NoError(t, r.Next(&ev))
	assert.Equal(t, "hello", ev.Message)
}

// TestUndecoded: all records are returned without decoding, with a condition each once.
func TestUndecoded(t *testing.T) {
	all := []string{"myapp_info", "myapp_warn", "myapp_error", "myapp_request", "myapp_info"}
	testUndecoded(t, Selection{Excludes: []string{"*_debug"}}, all, all[:4])
	testUndecoded(t, Selection{Excludes: []string{"*_debug"}, Where: condition("not has(status)")}, all, []string{"myapp_info", "myapp_warn", "myapp_error"})
}

func testUndecoded(t *testing.T, selected Selection, want, wantSelected []string) {
	t.Helper()
	m := newMachine(t)
	l := m.logger(m.program(), "myapp")
	r := m.mustOpen(Options{Selection: selected})
	_, err := r.NextUndecoded(nil)
	assert.ErrorIs(t, err, fs.ErrInvalid)
	logAll(l)
	l.Info("request", "status", 200)
	var u Undecoded
	var rec record.Record
	var names, taken []string
	r.SetDeadline(time.Now().Add(-1))
	for range want {
		raw, err := r.NextUndecoded(&u)
		require.NoError(t, err)
		assert.Equal(t, "myapp", u.Process.Comm)
		selected, _ := u.Decode(raw, &rec)
		names = append(names, rec.Name)
		assert.Equal(t, "user_events", rec.System)
		assert.Equal(t, u.Time, rec.Time)
		assert.Equal(t, u.Process, rec.Process)
		assert.NotEmpty(t, rec.Message+rec.EventName)
		if selected {
			taken = append(taken, rec.Name)
		}
	}
	assert.Equal(t, want, names)
	assert.Equal(t, wantSelected, taken)
	st := r.State()
	assert.Equal(t, uint64(len(wantSelected)), st.Selected)
	assert.Equal(t, uint64(len(want)), st.Selected+st.Unselected+st.Copies)
	own, _ := (&Undecoded{Decoder: u.Decoder}).Decode(rec.Raw, &rec)
	assert.True(t, own)
}

// TestReaderMemoryBounded: a long read of the records of very many short-lived processes takes a bounded amount of memory, also
// when the records of most of their exits are lost.
func TestReaderMemoryBounded(t *testing.T) {
	testscale.HostOnly(t)
	m := newMachine(t)
	h, err := sloghandler.New("short", &sloghandler.Options{Provider: m.program()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	r := m.mustOpen(Options{Selection: Selection{Events: []string{"short_info"}}})
	logger := slog.New(h)
	read := 0
	run := func(from, to int32) {
		for pid := from; pid < to; pid++ {
			m.task(fork(812, pid))
			m.task(exec(pid, fmt.Sprintf("short-%d", pid)))
			m.pid = pid
			logger.Info("done")
			if pid%7 == 0 {
				m.task(exit(pid))
			}
			if pid%512 == 0 {
				read += len(m.read(r))
				m.notices = nil
			}
		}
	}
	heap := func() int {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int(s.HeapAlloc)
	}
	const first, some = 1024, 7 * maxProcesses / 6 // so that more processes are known than the most
	before := heap()
	run(first, first+some)
	assert.Less(t, heap()-before, 32<<20)
	full := heap()
	run(first+some, first+2*some)
	assert.Less(t, heap()-full, 8<<20, "more processes take no more memory")

	assert.Greater(t, read, 2*some-1024, "all records are read")
	assert.LessOrEqual(t, len(r.processes.known), maxProcesses)
	assert.LessOrEqual(t, len(r.processes.exited), maxExited)
	for e := range r.events {
		assert.LessOrEqual(t, len(e.writers), maxWriters)
	}
	assert.Empty(t, r.noMainThread)
	assert.Len(t, r.events, 1)
}
