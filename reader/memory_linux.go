//go:build !386 && !arm && !mips && !mipsle

package reader

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"

	"github.com/userevents/userevents-go/internal/memory/attach"
	"github.com/userevents/userevents-go/internal/perf"
)

// memorySession reads the programs that offer events in shared memory, and the kernel's events beside them.
type memorySession struct {
	r *Reader

	deadline atomic.Pointer[time.Time]
	wake     chan struct{}

	mu          sync.Mutex
	programs    *attach.Programs
	window      *window                // of a Reader for Snapshot, else nil
	by          map[uint64]*task       // by memory: a process that executes another program has other memory
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
	asked       int32         // process of attachProcess
	wait        time.Duration // until the next look at their rings
	lost        uint64        // at the last call of Overran
	paused      time.Duration // at the last call of Overran

	// Used by ReadInto only, or by keep:
	probe      record.Record
	copies     record.Copies // with ReadSnapshot and a condition
	record     attach.Record
	have       bool // record is the next one of memory
	other      perf.Record
	haveOther  bool // other is the next one of the kernel
	otherEnded bool
}

// memoryKind is what events of the same declaration have in common.
type memoryKind struct {
	name    string
	decoder *record.Decoder  // nil if they are not selected
	where   *where.Condition // nil if all records meet it
	added   *added           // what additions select; nil if nothing
}

// memoryEvent is an event of a program, to the reader.
type memoryEvent struct {
	*memoryKind

	key      *perf.Source
	process  *task
	off      bool            // disabled, since no addition selects it any more
	shared   *record.Process // when it was attached
	unwanted uint64          // records that were compared with the condition, and do not match
	atLeast  bool            // there were more
	lost     func() uint64
	read     func() uint64
	limited  func() (uint64, time.Duration)

	// With a window:
	overwritten uint64 // records that left the window before that
	kept        int    // records in the window
}

// shortest is the shortest time between two looks at rings.
const shortest = time.Millisecond

// withMemory returns a session that also reads programs which offer events in memory.
func (r *Reader) withMemory() (session, error) {
	m := &memorySession{
		r: r, wait: shortest, wake: make(chan struct{}, 1),
		kinds: map[string]*memoryKind{}, names: map[string]int{}, ended: map[string]*ended{}, by: map[uint64]*task{},
		attachedOf: map[uint64]int{}, refused: map[int32]bool{}, failures: map[int32]string{},
	}
	callers := 0
	if r.o.Callchain {
		callers = attach.MaxCallers
	}
	m.programs = attach.NewPrograms(attach.ProgramsOptions{
		Options: attach.Options{
			Patterns: r.selection.memoryPatterns(), RingSize: memoryRing(r.o.BufferSize), Callers: callers,
			Limit: r.o.programLimit(), Wants: m.wants, Attached: m.attached, Keep: m.keeps,
		},
		RingMemory: r.o.ProgramMemory, WantsProcess: m.wantsProcess, Failed: m.failed, Refused: func(pid int32) { m.refused[pid] = true }, Ended: m.end,
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

func windowSize(size int) int {
	if size == 0 {
		size = 512 << 10
	}
	return size * runtime.NumCPU()
}

func (m *memorySession) ReadInto(r *perf.Record) error {
	if m.window != nil {
		return fmt.Errorf("reader: with ReadSnapshot, Snapshot returns the records: %w", fs.ErrInvalid)
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

		kernelEnds := m.r.kernel == nil || m.otherEnded
		switch {
		case memoryEnds && kernelEnds:
			return io.EOF
		case m.have && (kernelEnds || m.haveOther && m.record.Time <= m.other.Monotonic || !m.haveOther && m.record.Time <= m.r.kernel.delivered()):
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
	if m.r.kernel == nil || m.otherEnded || m.haveOther {
		return nil
	}
	switch err := m.r.kernel.ReadInto(&m.other); {
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

func (m *memorySession) count() {
	m.find()
	m.programs.Poll()
	for m.match() {
	}
}

// find looks for programs when it is time to.
func (m *memorySession) find() {
	if now := time.Now(); now.Sub(m.found) >= m.r.o.Poll {
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

func (m *memorySession) attachProcess(pid int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = int32(pid)
	defer func() { m.asked = 0 }()
	_ = m.findBy(func() error { return m.programs.AttachProcess(m.asked) }) // which there are notices of
}

// match returns whether there is a record. Where records are counted, or kept for later, it compares them with the condition.
func (m *memorySession) match() bool {
	early := m.r.o.Where != nil && (m.r.o.Read == ReadCounts || m.r.o.Read == ReadSnapshot)
	for m.programs.Next(&m.record) {
		if !early {
			return true
		}
		e := m.event()
		var rec perf.Record
		m.take(&rec)
		load(&m.probe, e.decoder, &rec, e.shared)
		wanted := e.where == nil || e.where.Match(&m.probe)
		if m.r.o.Read == ReadSnapshot && m.copies.IsCopy(&m.probe) {
			wanted = false // the original decides, which Snapshot may not see
		}
		if wanted {
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
		Kind: perf.Sample, Time: m.programs.Wall(m.record.Time), Monotonic: m.record.Time, CPU: -1, PID: src.PID,
		Source: m.event().key, Callchain: m.record.Callers, Raw: m.record.Raw,
	}
}

func (m *memorySession) event() *memoryEvent { return m.record.Source.User.(*memoryEvent) }

// await waits for records, until the deadline.
func (m *memorySession) await() error {
	wait := m.wait
	m.wait = min(2*m.wait, m.r.o.Latency)
	if left := m.untilResume(); left > 0 && left <= wait {
		wait, m.wait = left, shortest // a flood goes on then
	}
	var late bool
	if at := m.deadline.Load(); at != nil && !at.IsZero() {
		left := time.Until(*at)
		late = left <= 0
		wait = min(wait, left)
	}
	if late {
		return fmt.Errorf("reader: %w", os.ErrDeadlineExceeded)
	}
	if m.r.kernel != nil && !m.otherEnded && !m.haveOther {
		m.r.kernel.SetDeadline(time.Now().Add(wait))
		err := m.nextOfKernel()
		m.r.kernel.SetDeadline(past)
		return err
	}
	if wait > 0 {
		m.sleep(wait)
	}
	return nil
}

// untilResume returns the time until events are enabled again that have reached Options.Limit or ProgramLimit, or 0.
func (m *memorySession) untilResume() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.programs.Limited()
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
	if m.r.kernel != nil {
		m.r.kernel.SetDeadline(past)
	}
}

// past is a deadline that makes ReadInto return at once.
var past = time.Unix(0, 0)

func (m *memorySession) Stop() error {
	m.mu.Lock()
	m.stopped = true
	m.programs.Stop()
	m.mu.Unlock()
	var err error
	if m.r.kernel != nil {
		err = m.r.kernel.Stop()
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
	err = errors.Join(err, m.programs.Close()) // which is fast
	if m.r.kernel != nil {
		err = errors.Join(err, m.r.kernel.Close())
	}
	return err
}

func (m *memorySession) events() int { return len(m.names) }

func (m *memorySession) delivered() uint64 {
	if m.haveOther {
		return min(m.r.kernel.delivered(), m.other.Monotonic-1)
	}
	return m.r.kernel.delivered()
}
