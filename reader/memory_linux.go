//go:build !386 && !arm && !mips && !mipsle

package reader

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/filter"
	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/perf"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// memorySession reads the programs that offer events in shared memory, and the kernel's events beside them.
type memorySession struct {
	r             *Reader
	kernel        session // nil if it is not read
	latency, poll time.Duration

	deadline atomic.Pointer[time.Time]
	wake     chan struct{}

	mu          sync.Mutex
	programs    *attach.Programs
	window      *window                // of a Reader for Snapshot, else nil
	by          map[uint64]*Process    // by memory: a process that executes another program has other memory
	kinds       map[string]*memoryKind // by declaration
	names       map[string]int         // events that are attached: in how many programs
	attachedOf  map[uint64]int         // how many events of a program are attached, by memory
	refused     map[int32]bool         // processes that this one may not look into
	saidRefused bool
	failures    map[int32]string  // by process: what was reported last
	ended       map[string]*ended // events of programs that have ended, until the next look after the last one
	gone        perf.SourceStats  // of others before
	last        perf.Stats        // after Close
	stopped     bool
	closed      bool
	found       time.Time     // when programs were last looked for
	finding     bool          // they are being looked for
	asked       int32         // process of findProgram
	wait        time.Duration // until the next look at their rings
	lost        uint64        // at the last call of Overran

	// Used by ReadInto only:
	record     attach.Record
	have       bool // record is the next one of memory
	other      perf.Record
	haveOther  bool // other is the next one of the kernel
	otherEnded bool
}

// memoryKind is what events of the same declaration have in common.
type memoryKind struct {
	name    string
	decoder *Decoder // nil if they are not selected
	filter  *filter.Filter
}

// memoryEvent is an event of a program, to the reader.
type memoryEvent struct {
	*memoryKind

	key      *perf.Source
	process  *Process
	unwanted uint64 // records that do not match the filter
	atLeast  bool   // there were more
	lost     func() uint64
	read     func() uint64

	// With a window:
	overwritten uint64 // records that left the window before that
	kept        int    // records in the window
}

const (
	defaultLatency = 100 * time.Millisecond
	defaultPoll    = 250 * time.Millisecond
	shortest       = time.Millisecond // between two looks at rings
	immediate      = 10 * time.Millisecond
)

// withMemory returns a session that also reads programs which offer events in memory. The kernel's is nil if it cannot be read.
func (r *Reader) withMemory(kernel session) (session, error) {
	m := &memorySession{
		r: r, kernel: kernel, latency: defaultLatency, poll: defaultPoll, wait: shortest, wake: make(chan struct{}, 1),
		kinds: map[string]*memoryKind{}, names: map[string]int{}, ended: map[string]*ended{}, by: map[uint64]*Process{},
		attachedOf: map[uint64]int{}, refused: map[int32]bool{}, failures: map[int32]string{},
	}
	if r.o.Latency > 0 {
		m.latency = r.o.Latency
	}
	if r.o.Poll > 0 {
		m.poll = r.o.Poll
	}
	if r.o.Read == ReadImmediate {
		m.latency = immediate
	}
	callers := 0
	if r.o.Callchain {
		callers = attach.MaxCallers
	}
	m.programs = attach.NewPrograms(attach.ProgramsOptions{
		Options: attach.Options{
			Patterns: r.selection.memoryPatterns(), RingSize: memoryRing(r.o.BufferSize), Callers: callers,
			Wants: m.wants, Attached: m.attached,
		},
		WantsProcess: m.wantsProcess, Failed: m.failed, Refused: func(pid int32) { m.refused[pid] = true }, Ended: m.end,
		Disabled: m.disabled,
		Joined:   func(pid int32, memory uint64) { m.processOf(pid, memory) }, // while it is there
	})
	m.found = time.Now()
	if err := m.programs.Find(); err != nil {
		return nil, errors.Join(err, m.programs.Close())
	}
	m.notifyRefused()
	if r.o.Read == ReadSnapshot {
		m.window = &window{size: windowSize(r.o.BufferSize)}
		r.background.Add(1)
		go m.keep()
	}
	return m, nil
}

// memoryRing returns the size of the rings of a program for a size of a ring of the kernel, of which there is one for each CPU.
func memoryRing(size int) int {
	if size == 0 {
		return 0
	}
	all := attach.MinRing
	for all < min(size, attach.MaxRing) {
		all *= 2
	}
	return all
}

// windowSize returns the size of the window for a size of a ring of the kernel.
func windowSize(size int) int {
	if size == 0 {
		size = 512 << 10
	}
	return size * runtime.NumCPU()
}

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
	return m.r.o.Cgroup == "" || inCgroup(m.process(pid).Cgroup, m.r.o.Cgroup)
}

// inCgroup reports whether a process in a cgroup, such as /system.slice/myapp.service, is in or below a directory.
func inCgroup(cgroup, dir string) bool {
	for cgroup != "" && cgroup != "/" {
		if strings.HasSuffix(strings.TrimSuffix(dir, "/"), cgroup) {
			return true
		}
		cgroup = cgroup[:strings.LastIndexByte(cgroup, '/')]
	}
	return false
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
	if !m.r.selection.wants(tracepoint.System, d.Name) || !m.r.selection.wantsLevel(tracepoint.System, format) {
		return k
	}
	var err error
	if m.r.filter != nil {
		k.filter, err = m.r.filter.Bind(format)
	}
	if err == nil {
		k.decoder, err = NewDecoder(tracepoint.System, format)
	}
	if err != nil {
		k.decoder = nil
		m.r.notify(Notice{Kind: NoticeFailed, Event: k.name, Err: fmt.Errorf("event %s: %w", k.name, err)})
	}
	return k
}

// maxKinds is how many declarations are remembered, at 12 KB for those with the most fields.
const maxKinds = 4096

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

// process reads what there is of a process.
func (m *memorySession) process(pid int32) *Process {
	t := &task{Process: Process{PID: pid}}
	newProcesses(m.r.processes.proc).read(t)
	return &t.Process
}

// processOf returns the process of a program.
func (m *memorySession) processOf(pid int32, memory uint64) *Process {
	if m.by[memory] == nil {
		m.by[memory] = m.process(pid)
	}
	return m.by[memory]
}

func (m *memorySession) attached(src *attach.Source) {
	e := &memoryEvent{
		memoryKind: m.kind(src.Declaration), key: new(perf.Source), lost: src.Lost,
		read:    func() uint64 { return src.Read },
		process: m.processOf(src.PID, src.Memory),
	}
	src.User = e
	m.attachedOf[src.Memory]++
	m.r.mu.Lock()
	defer m.r.mu.Unlock()
	m.r.sources[e.key] = &source{name: e.name, decoder: e.decoder, process: e.process}
	if m.names[e.name]++; m.names[e.name] == 1 && m.r.opened {
		n := Notice{Kind: NoticeAttached, Event: e.name}
		if m.finding { // else the program has enabled it before it wrote
			n.Gap = time.Since(m.found)
		}
		m.r.notifyLocked(n)
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

// ended are the counts of an event in programs that have ended. They stay with those of other programs, since they must not become less.
type ended struct {
	perf.SourceStats

	seen bool // by a look at the losses, after the last program
}

func (m *memorySession) end(memory uint64, list []*attach.Source) {
	delete(m.by, memory)
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
		if m.names[e.name]--; m.names[e.name] == 0 {
			delete(m.names, e.name)
			m.r.notifyLocked(Notice{Kind: NoticeDetached, Event: e.name})
		}
	}
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

// stats counts what the kernel would have matched. Records that found no room were not compared with the filter.
func (e *memoryEvent) stats() perf.SourceStats {
	read, lost := e.read()-e.unwanted, e.lost()
	st := perf.SourceStats{
		Name: e.name, AtLeast: e.atLeast, Matched: read + lost, Read: read, Lost: lost, Pending: uint64(e.kept), Overwritten: e.overwritten,
	}
	st.Read -= st.Pending + st.Overwritten
	return st
}

func add(t *perf.SourceStats, u perf.SourceStats) {
	t.Matched += u.Matched
	t.Read += u.Read
	t.Lost += u.Lost
	t.Pending += u.Pending
	t.Overwritten += u.Overwritten
	t.AtLeast = t.AtLeast || u.AtLeast
}

// ReadInto returns the records of both kinds in order of time.
func (m *memorySession) ReadInto(r *perf.Record) error {
	if m.window != nil {
		return fmt.Errorf("reader: with ReadSnapshot, Snapshot returns the records: %w", errno.EINVAL)
	}
	for {
		if err := m.nextOfKernel(); err != nil {
			return err
		}
		m.mu.Lock()
		if m.closed {
			m.mu.Unlock()
			return fmt.Errorf("reader: %w", os.ErrClosed)
		}
		if m.r.o.Read == ReadCounts {
			m.count()
		} else if !m.haveOther || m.other.Monotonic > m.programs.Until() { // else nothing older comes
			m.next()
		}
		memoryEnds := m.stopped && !m.have
		complete := m.programs.Until()
		m.mu.Unlock()

		kernelEnds := m.kernel == nil || m.otherEnded
		switch {
		case memoryEnds && kernelEnds:
			return io.EOF
		case m.have && (kernelEnds || m.haveOther && m.record.Time <= m.other.Monotonic || !m.haveOther && m.record.Time <= m.kernel.delivered()):
			m.have = false
			m.take(r)
			return nil
		case m.haveOther && !m.have && (memoryEnds || m.other.Monotonic <= complete), m.haveOther && m.have && m.other.Monotonic < m.record.Time:
			m.haveOther = false
			*r = m.other
			return nil
		}
		if err := m.await(); err != nil {
			return err
		}
	}
}

// nextOfKernel looks for the next record of the kernel, and does not wait.
func (m *memorySession) nextOfKernel() error {
	if m.kernel == nil || m.otherEnded || m.haveOther {
		return nil
	}
	switch err := m.kernel.ReadInto(&m.other); {
	case err == nil:
		m.haveOther = true
		m.wait = shortest
	case errors.Is(err, io.EOF):
		m.otherEnded = true
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return err
	}
	return nil
}

// next looks for the next record of memory, and for programs when it is time to.
func (m *memorySession) next() {
	if m.have {
		return
	}
	if m.have = m.match(); m.have {
		return
	}
	m.find()
	m.programs.Poll()
	if m.have = m.match(); m.have {
		m.wait = shortest
	}
}

// count counts what programs have written.
func (m *memorySession) count() {
	m.find()
	m.programs.Poll()
	for m.match() {
	}
}

// find looks for programs when it is time to.
func (m *memorySession) find() {
	if now := time.Now(); now.Sub(m.found) >= m.poll {
		_ = m.findBy(m.programs.Find) // which there are notices of
		m.found = now
	}
}

func (m *memorySession) findBy(find func() error) error {
	if m.stopped || m.closed {
		return nil
	}
	m.finding = true
	err := find()
	m.finding = false
	m.notifyRefused()
	if err != nil {
		m.r.notify(Notice{Kind: NoticeFailed, Err: err})
	}
	return err
}

func (m *memorySession) findProgram(pid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = int32(pid)
	defer func() { m.asked = 0 }()
	_ = m.findBy(func() error { return m.programs.FindProgram(m.asked) }) // which there are notices of
}

// match returns whether there is a record that the filter selects.
func (m *memorySession) match() bool {
	for m.programs.Next(&m.record) {
		e := m.event()
		if e.filter == nil || e.filter.Match(&filter.Record{Raw: m.record.Raw, Comm: e.process.Comm}) {
			return true
		}
		e.unwanted++
	}
	return false
}

// take gives the record the form that the kernel's have.
func (m *memorySession) take(r *perf.Record) {
	src := m.record.Source
	*r = perf.Record{
		Kind: perf.Sample, Time: m.programs.Wall(m.record.Time), Monotonic: m.record.Time, PID: src.PID,
		Source: m.event().key, Callchain: m.record.Callers, Raw: m.record.Raw,
	}
}

// event returns that of the record.
func (m *memorySession) event() *memoryEvent { return m.record.Source.User.(*memoryEvent) }

// await waits for records, until the deadline.
func (m *memorySession) await() error {
	wait := m.wait
	m.wait = min(2*m.wait, m.latency)
	var late bool
	if at := m.deadline.Load(); at != nil && !at.IsZero() {
		left := time.Until(*at)
		late = left <= 0
		wait = min(wait, left)
	}
	if late {
		return fmt.Errorf("reader: %w", os.ErrDeadlineExceeded)
	}
	if m.kernel != nil && !m.otherEnded && !m.haveOther {
		m.kernel.SetDeadline(time.Now().Add(wait))
		err := m.nextOfKernel()
		m.kernel.SetDeadline(past)
		return err
	}
	if wait > 0 {
		m.sleep(wait)
	}
	return nil
}

// sleep waits for a while, or for awake.
func (m *memorySession) sleep(wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-m.wake:
	}
}

func (m *memorySession) SetDeadline(t time.Time) {
	m.deadline.Store(&t)
	m.awake()
}

func (m *memorySession) awake() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
	if m.kernel != nil {
		m.kernel.SetDeadline(past)
	}
}

// past is a deadline that makes ReadInto return at once.
var past = time.Unix(0, 0)

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

// Overran reports whether records may have been lost since the last call. Programs learn that this reader lives, though it may leave
// records unread.
func (m *memorySession) Overran() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.programs.Renew()
	m.forgetEnded()
	lost := m.gone.Lost
	for _, e := range m.ended {
		lost += e.Lost
	}
	m.programs.Sources(func(src *attach.Source) { lost += src.Lost() })
	more := lost != m.lost
	m.lost = lost
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

func (m *memorySession) Stop() error {
	m.mu.Lock()
	m.stopped = true
	m.programs.Stop()
	m.mu.Unlock()
	var err error
	if m.kernel != nil {
		err = m.kernel.Stop()
	}
	m.awake()
	return err
}

func (m *memorySession) Close() error {
	last, err := m.Stats()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed, m.last = true, last
	m.awake()
	if m.kernel != nil {
		err = errors.Join(err, m.kernel.Close())
	}
	return errors.Join(err, m.programs.Close())
}

func (m *memorySession) events() int { return len(m.names) }

// withoutKernel leaves the kernel's events out. No call of ReadInto has begun.
func (m *memorySession) withoutKernel() error {
	kernel := m.kernel
	m.kernel = nil
	return kernel.Close()
}

// The methods below are about the kernel's events alone.

func (m *memorySession) Attach(name string, o *perf.AttachOptions) (*perf.Source, error) {
	return m.kernel.Attach(name, o)
}

func (m *memorySession) Follow(match func(*tracefs.Event) *perf.AttachOptions, report func(*tracefs.Event, *perf.Source, error)) error {
	return m.kernel.Follow(match, report)
}

func (m *memorySession) detach(src *perf.Source) error            { return m.kernel.detach(src) }
func (m *memorySession) describe(src *perf.Source) *tracefs.Event { return m.kernel.describe(src) }
func (m *memorySession) gap(src *perf.Source) time.Duration       { return m.kernel.gap(src) }
func (m *memorySession) delivered() uint64                        { return m.kernel.delivered() }
