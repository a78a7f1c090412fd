package benchmarks

import (
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	tool "github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// opaque is the size of a payload that is made already, in a record and in one of other libraries.
const opaque = 300

// BenchmarkMemory is the call while tools read the event from shared memory.
func BenchmarkMemory(b *testing.B) {
	useMemory(b)
	for _, o := range owns {
		log, event := o.open(b, uniqueName(), five)
		readers(b, 1, event).run(b, o.name, log)
	}
	for _, o := range ownSpanList {
		log, events := o.openTwo(b)
		readers(b, 1, events...).run(b, o.name, log)
	}
	for n := 1; n <= 3; n++ {
		ev, event := openOpaque(b)
		readers(b, n, event).run(b, fmt.Sprintf("opaque/tools=%d", n), writeOpaque(ev))
	}
	ev, event := openOpaque(b)
	log := writeOpaque(ev)
	r := readers(b, 1, event)
	run(b, "opaque/full", call{log: log, prepare: func() { r.fill(b, log) }})
	r.detach(b)
}

// useMemory lets events be in shared memory, with rings for two processors at most, whatever the machine has.
func useMemory(b *testing.B) {
	b.Setenv(uevents.EnvTransport, uevents.TransportMemory.String())
	before := runtime.GOMAXPROCS(min(runtime.NumCPU(), 2))
	b.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// openOpaque registers an event without fields.
func openOpaque(tb testing.TB) (ev *uevents.Event, name string) {
	p, err := uevents.Open(nil)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, p.Close()) })
	name = uniqueName()
	ev, err = p.Register(tracepoint.Declaration{Name: name}, nil)
	require.NoError(tb, err)
	return ev, name
}

// writeOpaque returns the write of a payload that is made already.
func writeOpaque(ev *uevents.Event) (log func()) {
	buf := make([]byte, uevents.IndexSize+opaque)
	return func() { _, _ = ev.WriteRecord(buf) }
}

// openTwo returns a span with two attributes, and its events.
func (o ownSpans) openTwo(tb testing.TB) (log func(), events []string) {
	name := uniqueName()
	log = spanCall(o.open(tb, name), spanScenarios[1])
	for _, suffix := range o.events {
		events = append(events, name+suffix)
	}
	return log, events
}

// tools read events from the memory of this process.
type tools struct {
	p        *tool.Program
	sessions []*tool.Session
	ids      []uint32
}

// readers attaches tools, whose rings hold more than a batch.
func readers(tb testing.TB, n int, events ...string) *tools {
	p, err := tool.Open(os.Getpid())
	require.NoError(tb, err)
	t := &tools{p: p}
	for range n {
		s, err := p.Attach(tool.Options{RingSize: 1 << 20, Patterns: events})
		require.NoError(tb, err)
		t.sessions = append(t.sessions, s)
	}
	all, _ := p.Events(0)
	for _, e := range all {
		t.ids = append(t.ids, e.ID)
	}
	return t
}

// read empties the rings, and returns how many records were in them.
func (t *tools) read() (n int) {
	for _, s := range t.sessions {
		n += len(s.Read())
	}
	return n
}

// lost returns how many records found no room.
func (t *tools) lost() (n uint64) {
	for _, s := range t.sessions {
		for _, id := range t.ids {
			n += s.Lost(id)
		}
	}
	return n
}

// fill calls until the ring of this processor is full. Then the process has touched all of its pages.
func (t *tools) fill(tb testing.TB, log func()) {
	lost := t.lost()
	for range 1 << 15 {
		if log(); t.lost() > lost {
			return
		}
	}
	tb.Fatal("the ring is not full")
}

// run measures a call whose records the tools read between batches, so that none is lost.
func (t *tools) run(b *testing.B, name string, log func()) {
	t.fill(b, log)
	lost, read := t.lost(), t.read()
	run(b, name, call{log: log, prepare: func() { read += t.read() }})
	require.Equal(b, lost, t.lost(), "lost records")
	require.Greater(b, read, batch)
	t.detach(b)
}

func (t *tools) detach(tb testing.TB) {
	for _, s := range t.sessions {
		require.NoError(tb, s.Detach())
	}
	require.NoError(tb, t.p.Close())
}
