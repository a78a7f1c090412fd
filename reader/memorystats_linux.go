//go:build !386 && !arm && !mips && !mipsle

package reader

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"runtime"
	"slices"

	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/perf"
)

// ended are the counts of an event in programs that have ended. They stay with those of other programs, since they must not become less.
type ended struct {
	perf.SourceStats

	seen bool // by a look at the losses, after the last program
}

func (m *memorySession) end(memory uint64, list []*attach.Source) {
	process := m.by[memory]
	delete(m.by, memory)
	m.r.processes.contexts.release(process)
	delete(m.attachedOf, memory)
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	for _, src := range list {
		e := src.User.(*memoryEvent)
		if lost := e.lost(); m.window != nil {
			e.lost = func() uint64 { return lost } // the memory goes
			m.window.ended = append(m.window.ended, e)
		} else {
			m.forget(e)
		}
		if !e.off {
			m.leave(e)
		}
	}
	m.r.notifyLocked(Notice{Kind: NoticeExited, PID: process.PID})
}

// forget drops an event of which no record is left. The caller holds Reader.mu.
func (m *memorySession) forget(e *memoryEvent) {
	delete(m.r.sources, e.key)
	if m.ended[e.name] == nil {
		m.ended[e.name] = &ended{SourceStats: perf.SourceStats{Name: e.name}}
	}
	m.ended[e.name].Add(e.stats())
	m.ended[e.name].seen = false
}

// stats counts what the kernel would have matched. Records that found no room were not compared with the condition.
func (e *memoryEvent) stats() perf.SourceStats {
	read, lost := e.read()-e.unwanted, e.lost()
	st := perf.SourceStats{
		Name: e.name, AtLeast: e.atLeast, Matched: read + lost, Read: read, Lost: lost, Pending: uint64(e.kept), Overwritten: e.overwritten,
	}
	st.Read -= st.Pending + st.Overwritten
	st.Pauses, st.Paused = e.limited()
	return st
}

// State is that of the kernel's session: programs have no rings of CPUs.
func (m *memorySession) State() perf.State {
	if m.r.kernel == nil {
		return perf.State{}
	}
	return m.r.kernel.State()
}

func (m *memorySession) Stats() (t perf.Stats, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return m.last, nil
	}
	if m.r.kernel != nil {
		if t, err = m.r.kernel.Stats(); err != nil {
			return t, err
		}
	} else if t.CPUs = runtime.NumCPU(); m.window != nil {
		t.BufferSize = m.window.size / t.CPUs
	}
	switch m.r.o.Read {
	case ReadCounts:
		m.forgetEnded()
		m.count()
	case ReadSnapshot:
		m.fill() // programs may have ended since
	}
	byName := map[string]*perf.SourceStats{}
	for name, e := range m.ended {
		counts := e.SourceStats
		byName[name] = &counts
	}
	m.programs.Sources(func(src *attach.Source) {
		e := src.User.(*memoryEvent)
		if byName[e.name] == nil {
			byName[e.name] = &perf.SourceStats{Name: e.name}
		}
		byName[e.name].Add(e.stats())
	})
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		t.Sources = append(t.Sources, *byName[name])
	}
	t.Detached.Add(m.gone)
	if m.window != nil {
		for _, e := range m.window.ended {
			t.Detached.Add(e.stats())
		}
	}
	t.Late += m.programs.Late()
	return t, nil
}

// Overran reports whether records may have been lost, or kept from being written, since the last call. Programs learn that this reader lives, though it may leave
// records unread.
func (m *memorySession) Overran() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.programs.Renew()
	m.forgetEnded()
	lost, paused := m.gone.Lost, m.gone.Paused
	for _, e := range m.ended {
		lost += e.Lost
		paused += e.Paused
	}
	m.programs.Sources(func(src *attach.Source) {
		_, d := src.Limited()
		lost += src.Lost()
		paused += d
	})
	more := lost != m.lost || paused != m.paused
	m.lost, m.paused = lost, paused
	return m.r.kernel != nil && m.r.kernel.Overran() || more
}

// forgetEnded moves the counts of events that no program has any more, after a look at their losses.
func (m *memorySession) forgetEnded() {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	for name, e := range m.ended {
		switch {
		case m.names[name] > 0:
		case e.seen:
			m.gone.Add(e.SourceStats)
			delete(m.ended, name)
		default:
			e.seen = true
		}
	}
}

// window keeps the latest records of programs, which write to rings that overwrite nothing: so those of a program that was killed are
// there, too. It has two halves; when the newer one is full, the older one is dropped.
type window struct {
	size     int // bytes of both halves
	old, new half
	ended    []*memoryEvent // of programs that have ended
	reading  bool           // Snapshot runs, and has records that are in no half
}

type half struct {
	records []windowRecord
	bytes   []byte
	callers []uint64
}

// windowRecord is a record whose slices are parts of a half.
type windowRecord struct {
	perf.Record

	event               *memoryEvent
	raw, callers        int // where they begin
	rawSize, callerSize int
}

// add adds the record that a session has read last.
func (w *window) add(m *memorySession) {
	var r perf.Record
	m.take(&r)
	size := len(r.Raw) + 8*len(r.Callchain)
	if h := &w.new; len(h.bytes)+8*len(h.callers)+size > w.size/2 {
		w.old, w.new = w.new, w.old
		h = &w.new
		for i := range h.records {
			h.records[i].event.overwritten++
			h.records[i].event.kept--
		}
		h.records, h.bytes, h.callers = h.records[:0], h.bytes[:0], h.callers[:0]
	}
	h := &w.new
	m.event().kept++
	h.records = append(h.records, windowRecord{r, m.event(), len(h.bytes), len(h.callers), len(r.Raw), len(r.Callchain)})
	h.bytes = append(h.bytes, r.Raw...)
	h.callers = append(h.callers, r.Callchain...)
}

func (w *window) take() (list []perf.Record) {
	for _, h := range []*half{&w.old, &w.new} {
		for _, r := range h.records {
			r.Raw = bytes.Clone(h.bytes[r.raw:][:r.rawSize])
			r.Callchain = slices.Clone(h.callers[r.callers:][:r.callerSize])
			r.event.kept--
			list = append(list, r.Record)
		}
		*h = half{}
	}
	return list
}

// keep fills the window until the session is closed.
func (m *memorySession) keep() {
	defer m.r.background.Done()
	wait := shortest
	for {
		m.mu.Lock()
		if m.closed {
			m.mu.Unlock()
			return
		}
		if m.fill() {
			wait = shortest
		}
		m.mu.Unlock()
		m.sleep(wait)
		wait = min(2*wait, m.r.o.Latency)
	}
}

// fill moves to the window what programs have written, and reports whether they have.
func (m *memorySession) fill() (some bool) {
	m.find()
	m.programs.Poll()
	for m.match() {
		m.window.add(m)
		some = true
	}
	if w := m.window; len(w.ended) > 0 && !w.reading {
		m.r.mu.Lock()
		defer m.r.mu.Unlock()
		w.ended = slices.DeleteFunc(w.ended, func(e *memoryEvent) bool {
			if e.kept == 0 {
				m.forget(e)
			}
			return e.kept == 0
		})
	}
	return some
}

func (m *memorySession) Snapshot(f func(*perf.Record) error) error {
	if m.window == nil {
		return fmt.Errorf("reader: Snapshot needs ReadSnapshot: %w", fs.ErrInvalid)
	}
	m.mu.Lock()
	if !m.closed {
		m.fill()
	}
	list := m.window.take()
	m.window.reading = true
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.window.reading = false
		m.mu.Unlock()
	}()
	until := func(monotonic uint64) error {
		for len(list) > 0 && list[0].Monotonic <= monotonic {
			r := list[0]
			list = list[1:]
			if err := f(&r); err != nil {
				return err
			}
		}
		return nil
	}
	if m.r.kernel != nil {
		err := m.r.kernel.Snapshot(func(r *perf.Record) error {
			if err := until(r.Monotonic); err != nil {
				return err
			}
			return f(r)
		})
		if err != nil {
			return err
		}
	}
	return until(math.MaxUint64)
}
