//go:build !386 && !arm && !mips && !mipsle

package reader

import (
	"maps"
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
	add(&m.ended[e.name].SourceStats, e.stats())
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

func add(t *perf.SourceStats, u perf.SourceStats) {
	t.Matched += u.Matched
	t.Read += u.Read
	t.Lost += u.Lost
	t.Pending += u.Pending
	t.Overwritten += u.Overwritten
	t.AtLeast = t.AtLeast || u.AtLeast
	t.Pauses += u.Pauses
	t.Paused += u.Paused
}

// State is that of the kernel's session: programs have no rings of CPUs.
func (m *memorySession) State() perf.State {
	if m.kernel == nil {
		return perf.State{}
	}
	return m.kernel.State()
}

// Stats adds the counts of programs, by the names of their events.
func (m *memorySession) Stats() (t perf.Stats, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return m.last, nil
	}
	if m.kernel != nil {
		if t, err = m.kernel.Stats(); err != nil {
			return t, err
		}
	} else {
		if t.CPUs = runtime.NumCPU(); m.window != nil {
			t.BufferSize = m.window.size / t.CPUs
		}
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
		add(byName[e.name], e.stats())
	})
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		t.Sources = append(t.Sources, *byName[name])
	}
	add(&t.Detached, m.gone)
	if m.window != nil {
		for _, e := range m.window.ended {
			add(&t.Detached, e.stats())
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
	return m.kernel != nil && m.kernel.Overran() || more
}

// forgetEnded moves the counts of events that no program has any more, after a look at their losses.
func (m *memorySession) forgetEnded() {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	for name, e := range m.ended {
		switch {
		case m.names[name] > 0:
		case e.seen:
			add(&m.gone, e.SourceStats)
			delete(m.ended, name)
		default:
			e.seen = true
		}
	}
}
