//go:build !386 && !arm && !mips && !mipsle

package reader

import (
	"fmt"
	"runtime"
	"time"

	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
)

// memory says which programs and events in shared memory a Reader reads. The lock of its session guards it.
type memory struct {
	r *Reader
	*attach.Reader

	by          map[uint64]*task           // by memory: a process that executes another program has other memory
	joined      map[uint64]*record.Process // the same when its program was joined
	kinds       map[string]*memoryKind     // by declaration
	attachedOf  map[uint64]int             // how many events of a program are attached, by memory
	saidRefused bool
	failures    map[int32]string // by process: what was reported last

	// For Counts:
	probe  record.Record
	copies record.Copies
}

// memoryKind is what events of the same declaration have in common.
type memoryKind struct {
	of      *selections // of which it was chosen
	name    string
	reading *reading // nil if they are not selected
	asked   *reading // the same for programs of AttachProcess
}

func (k *memoryKind) readingFor(t *task) *reading {
	if t.asked {
		return k.asked
	}
	return k.reading
}

// newMemory returns a session that reads programs which offer events in memory.
func newMemory(r *Reader) (memorySession, error) {
	m := &memory{r: r, kinds: map[string]*memoryKind{}, by: map[uint64]*task{}, joined: map[uint64]*record.Process{}, attachedOf: map[uint64]int{}, failures: map[int32]string{}}
	o := attach.ReaderOptions{
		Patterns: r.selected.Load().memoryPatterns(), RingSize: r.o.BufferSize, RingMemory: r.o.ProgramMemory, Limit: r.o.programLimit(),
		Poll: r.o.Poll, Latency: r.o.Latency, Counts: r.o.Read == ReadCounts,
	}
	if r.o.Callchain {
		o.Callers = attach.MaxCallers
	}
	if r.o.Read == ReadSnapshot {
		o.Snapshot = windowSize(r.o.BufferSize)
	}
	var err error
	if m.Reader, err = attach.NewReader(m, o); err != nil {
		return nil, err
	}
	return m, nil
}

func windowSize(size int) int {
	if size == 0 {
		size = 512 << 10
	}
	return size * runtime.NumCPU()
}

// memoryPatterns returns patterns for programs, which match at least what is selected.
func (s selections) memoryPatterns() (list []string) {
	size := 0
	for _, p := range s.patterns() {
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

// Counts compares a record with the condition, where the Reader does not see all records. There is one selection then.
func (m *memory) Counts(rec *live.Record) bool {
	if (*m.r.selected.Load())[0].Where == nil {
		return true
	}
	e := rec.Tag.(*event)
	rd := e.reading.Load()
	_ = rd.decoder.DecodeReuse(rec.Raw, &m.probe) // one that cannot be decoded has the parts of all records
	recorded(&m.probe, rec, e.attachedBy)
	wanted := rd.parts[0].where.Match(&m.probe)
	if m.r.o.Read == ReadSnapshot && m.copies.IsCopy(&m.probe) {
		return false // the original decides, which Snapshot may not see
	}
	return wanted
}

func (m *memory) WantsProcess(pid int32) bool {
	pids := m.r.selected.Load().processes()
	return !m.ignoresNew() && (pids == nil || pids[pid]) && (m.r.o.Cgroup == "" || within(m.process(pid).Cgroup, m.r.cgroup))
}

// ignoresNew reports whether programs and events that appear now are left alone.
func (m *memory) ignoresNew() bool {
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	return m.r.o.NoFollow && m.r.opened
}

// kind returns what is known about events with a declaration.
func (m *memory) kind(d tracepoint.Declaration) *memoryKind {
	text, selected := d.String(), m.r.selected.Load()
	if k := m.kinds[text]; k != nil && k.of == selected {
		return k
	}
	k := &memoryKind{of: selected, name: tracepoint.System + ":" + d.Name}
	if len(m.kinds) == maxKinds { // a program makes up names
		clear(m.kinds)
	}
	m.kinds[text] = k
	if !selected.names(tracepoint.System, d.Name) {
		return k
	}
	decoder, err := record.NewDecoder(tracepoint.System, d.Format())
	if err != nil {
		m.r.notices.add(Notice{Kind: NoticeFailed, Event: k.name, Err: fmt.Errorf("event %s: %w", k.name, err)})
		return k
	}
	if c := m.r.choose(*selected, tracepoint.System, d.Name, decoder); len(c.parts) > 0 {
		k.reading = m.r.newReading(decoder, c.from(selected.processes()), "")
		k.asked = m.r.newReading(decoder, c.ofAnyProcess(), "")
	} else {
		m.r.noteNever(k.name)
	}
	return k
}

// selects reports whether the selection has an event, and its program, which AttachProcess may have asked for.
func (m *memory) selects(e attach.Event, asked bool) bool {
	pids := m.r.selected.Load().processes()
	return m.kind(e.Declaration).reading != nil && (pids == nil || pids[e.PID] || asked)
}

func (m *memory) Wants(e attach.Event, asked bool) bool {
	asked = asked || m.by[e.Memory] != nil && m.by[e.Memory].asked
	if !m.selects(e, asked) || !asked && m.ignoresNew() {
		return false
	}
	if m.r.o.MaxEvents > 0 && m.attachedOf[e.Memory] >= m.r.o.MaxEvents {
		m.r.notices.add(tooMany(m.r.o.MaxEvents, fmt.Sprintf("of process %d ", e.PID), m.kind(e.Declaration).name))
		return false
	}
	return true
}

func (m *memory) Keeps(src *attach.Source) bool {
	e := src.User.(*event)
	if m.selects(src.Event, e.task.asked) {
		e.reading.Store(m.kind(src.Declaration).readingFor(e.task))
		return true
	}
	m.attachedOf[src.Memory]--
	return false
}

// process reads /proc for a process.
func (m *memory) process(pid int32) *task {
	t := &task{Process: record.Process{PID: pid}}
	m.r.processes.read(t)
	return t
}

// Joined notes the process of a program while it is there.
func (m *memory) Joined(pid int32, memory uint64, asked bool) {
	if t := m.processOf(pid, memory); asked {
		t.asked = true
	}
}

// processOf returns the process of a program. It may have exited when its records are read, so its service is looked for now, too.
func (m *memory) processOf(pid int32, memory uint64) *task {
	if m.by[memory] == nil {
		t := m.process(pid)
		m.r.processes.contexts.give(t)
		m.by[memory], m.joined[memory] = t, t.copied() // Next changes t
	}
	return m.by[memory]
}

func (m *memory) Attached(src *attach.Source, first bool, gap time.Duration) {
	k := m.kind(src.Declaration)
	if src.User == nil {
		t := m.processOf(src.PID, src.Memory)
		src.User = &event{name: k.name, task: t, attachedBy: m.joined[src.Memory], pause: func() { m.Pause(src) }}
	}
	e := src.User.(*event)
	e.reading.Store(k.readingFor(e.task))
	m.attachedOf[src.Memory]++
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	if first && m.r.opened {
		m.r.notices.add(Notice{Kind: NoticeAttached, Event: k.name, Gap: gap})
	}
}

func (m *memory) Detached(name string) { m.r.notices.add(Notice{Kind: NoticeDetached, Event: name}) }

func (m *memory) Disabled(src *attach.Source, d time.Duration) {
	m.r.notices.add(Notice{Kind: NoticeDisabled, Event: src.User.(*event).name, Gap: d})
}

func (m *memory) Ended(memory uint64) {
	process := m.by[memory]
	delete(m.by, memory)
	delete(m.joined, memory)
	delete(m.attachedOf, memory)
	m.r.processes.contexts.release(process)
	m.r.notices.add(Notice{Kind: NoticeExited, PID: process.PID})
}

// Failed reports a program that is not attached to, once for each reason: a program has several locks. Refused counts those that
// refuse and were not asked for.
func (m *memory) Failed(pid int32, err error) {
	if pid == 0 {
		m.r.notices.add(Notice{Kind: NoticeFailed, Err: err})
		return
	}
	if attach.IsRefused(err) && m.r.selected.Load().processes() == nil || m.failures[pid] == err.Error() {
		return
	}
	if len(m.failures) == maxKinds {
		clear(m.failures)
	}
	m.failures[pid] = err.Error()
	m.r.notices.add(Notice{Kind: NoticeFailed, Err: fmt.Errorf("process %d (%s): %w", pid, m.process(pid).Program(), err)})
}

// Refused reports once that there are processes which this one may not look into.
func (m *memory) Refused(processes int) {
	if !m.saidRefused && m.r.selected.Load().processes() == nil {
		m.saidRefused = true
		m.r.notices.add(Notice{Kind: NoticeRefused, Count: uint64(processes), Err: attach.Refused(processes)})
	}
}
