//go:build !386 && !arm && !mips && !mipsle

package reader

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"

	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/tracepoint"
)

// memoryPatterns returns patterns for programs, which match at least what is selected.
func (s *selection) memoryPatterns() (list []string) {
	size := 0
	for _, p := range s.events {
		if !p.userEvents() {
			continue
		}
		list = append(list, p.name)
		if p.prefix {
			list = append(list, p.name+"_*")
		}
		size += 2 * (len(p.name) + 3)
	}
	if size > attach.MaxPatterns {
		return []string{"*"}
	}
	return list
}

func (m *memorySession) wantsProcess(pid int32) bool {
	if pid == m.asked {
		return true
	}
	if m.ignoresNew() {
		return false
	}
	if len(m.r.o.Processes) > 0 && !slices.Contains(m.r.o.Processes, int(pid)) {
		return false
	}
	return m.r.o.Cgroup == "" || within(m.process(pid).Cgroup, m.r.cgroup)
}

// kind returns what is known about events with a declaration.
func (m *memorySession) kind(d tracepoint.Declaration) *memoryKind {
	text := d.String()
	if k := m.kinds[text]; k != nil {
		return k
	}
	k := &memoryKind{name: tracepoint.System + ":" + d.Name}
	if len(m.kinds) == maxKinds { // a program makes up names
		clear(m.kinds)
	}
	m.kinds[text] = k
	format := d.Format()
	selected, list := m.r.selection.wants(tracepoint.System, d.Name), m.r.selected(tracepoint.System, d.Name)
	if !selected && len(list) == 0 {
		return k
	}
	var err error
	if k.decoder, err = record.NewDecoder(tracepoint.System, format); err == nil && !m.r.o.wantsKind(k.decoder) {
		k.decoder = nil
		if selected {
			m.r.noteNever(k.name)
		}
	} else if err == nil {
		k.choose(m.r, selected, list)
	}
	if err != nil {
		m.r.notify(Notice{Kind: NoticeFailed, Event: k.name, Err: fmt.Errorf("event %s: %w", k.name, err)})
	}
	return k
}

// choose sets what is selected of the events. There is no decoder if that is nothing.
func (k *memoryKind) choose(r *Reader, selected bool, list []*where.Condition) {
	k.added = r.o.addedOf(k.decoder, list)
	if selected && r.o.Where != nil {
		switch plan := r.planFor(k.decoder); {
		case plan.Never:
			selected = false
			r.noteNever(k.name)
		case plan.Kernel != "" || len(plan.Reader) > 0:
			k.where = r.o.Where
		}
	}
	switch {
	case !selected && k.added == nil:
		k.decoder = nil
	case selected && k.where == nil:
		k.added = nil // it has all records
	case selected && k.added != nil:
		k.added.role = optionsToo
	}
}

// askAgain looks at all events again, since additions have changed.
func (m *memorySession) askAgain() {
	m.mu.Lock()
	clear(m.kinds)
	m.programs.Reselect()
	m.mu.Unlock()
	if m.r.kernel != nil {
		m.r.kernel.askAgain()
	}
}

// keeps updates an event when additions have changed, and reports whether it is still selected. Else its records keep what selected them.
func (m *memorySession) keeps(src *attach.Source) bool {
	e, k := src.User.(*memoryEvent), m.kind(src.Declaration)
	if k.decoder == nil {
		e.off = true
		m.attachedOf[src.Memory]--
		m.r.mu.Lock()
		defer m.r.mu.Unlock()
		m.leave(e)
		return false
	}
	e.memoryKind = k
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	m.r.sources[e.key].added.Store(k.added)
	return true
}

// leave notes that a program does not offer an event any more, or that it is not selected. The caller holds Reader.mu.
func (m *memorySession) leave(e *memoryEvent) {
	if m.names[e.name]--; m.names[e.name] == 0 {
		delete(m.names, e.name)
		m.r.notifyLocked(Notice{Kind: NoticeDetached, Event: e.name})
	}
}

// ignoresNew reports whether programs and events that appear now are left alone.
func (m *memorySession) ignoresNew() bool {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	return m.r.o.NoFollow && m.r.opened && m.asked == 0
}

func (m *memorySession) wants(e attach.Event) bool {
	k := m.kind(e.Declaration)
	if k.decoder == nil || m.ignoresNew() {
		return false
	}
	if m.r.o.MaxEvents > 0 && m.attachedOf[e.Memory] >= m.r.o.MaxEvents {
		m.r.notify(tooMany(m.r.o.MaxEvents, fmt.Sprintf("of process %d ", e.PID), k.name))
		return false
	}
	return true
}

// process reads /proc for a process.
func (m *memorySession) process(pid int32) *task {
	t := &task{Process: record.Process{PID: pid}}
	m.r.processes.read(t)
	return t
}

// processOf returns the process of a program. It may have exited when its records are read, so its service is looked for now, too.
func (m *memorySession) processOf(pid int32, memory uint64) *task {
	if m.by[memory] == nil {
		t := m.process(pid)
		m.r.processes.contexts.give(t)
		m.by[memory] = t
	}
	return m.by[memory]
}

func (m *memorySession) attached(src *attach.Source) {
	e, again := src.User.(*memoryEvent)
	if !again {
		e = &memoryEvent{
			key: new(perf.Source), lost: src.Lost, read: func() uint64 { return src.Read }, limited: src.Limited,
			process: m.processOf(src.PID, src.Memory),
		}
		e.shared = e.process.copied()
		src.User = e
	}
	e.memoryKind, e.off = m.kind(src.Declaration), false
	m.attachedOf[src.Memory]++
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	s := m.r.sources[e.key]
	if s == nil {
		s = &source{name: e.name, decoder: e.decoder, task: e.process, where: e.where, pause: func() { m.pauseEvent(src) }}
		m.r.sources[e.key] = s
	}
	s.added.Store(e.added)
	if m.names[e.name]++; m.names[e.name] == 1 && m.r.opened {
		n := Notice{Kind: NoticeAttached, Event: e.name}
		if m.finding { // else the program has enabled it before it wrote
			n.Gap = time.Since(m.found)
		}
		m.r.notifyLocked(n)
	}
}

// pauseEvent disables an event until the next second.
func (m *memorySession) pauseEvent(src *attach.Source) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.stopped && !m.closed { // else its memory may be gone
		src.Pause()
	}
}

// failed reports a program that is not attached to, once for each reason: a program has several locks. notifyRefused counts those that
// refuse and were not asked for.
func (m *memorySession) failed(pid int32, err error) {
	if errors.Is(err, fs.ErrPermission) && len(m.r.o.Processes) == 0 || m.failures[pid] == err.Error() {
		return
	}
	if len(m.failures) == maxKinds {
		clear(m.failures)
	}
	m.failures[pid] = err.Error()
	m.r.notify(Notice{Kind: NoticeFailed, Err: fmt.Errorf("process %d (%s): %w", pid, m.process(pid).Program(), err)})
}

// notifyRefused reports once that there are processes which this one may not look into.
func (m *memorySession) notifyRefused() {
	if n := len(m.refused); n > 0 && !m.saidRefused && len(m.r.o.Processes) == 0 {
		m.saidRefused = true
		m.r.notify(Notice{Kind: NoticeRefused, Count: uint64(n), Err: attach.Refused(n)})
	}
	clear(m.refused)
}

// disabled reports events that a program had disabled, since nothing has read its rings for long.
func (m *memorySession) disabled(list []*attach.Source, d time.Duration) {
	for _, src := range list {
		e := src.User.(*memoryEvent)
		e.atLeast = true
		m.r.notify(Notice{Kind: NoticeDisabled, Event: e.name, Gap: d})
	}
}
