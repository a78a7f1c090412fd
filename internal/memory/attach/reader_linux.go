package attach

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

	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/tracepoint"
)

// Tool says what a [Reader] reads, and hears of it. The Reader calls its methods one at a time, from its own.
type Tool interface {
	// WantsProcess selects programs, but those of Reader.AttachProcess.
	WantsProcess(pid int32) bool
	// Joined says that a session of a program was taken, whose Source.Memory that is. It may have no event yet. asked is that it was for
	// Reader.AttachProcess.
	Joined(pid int32, memory uint64, asked bool)
	// Wants selects events.
	Wants(e Event, asked bool) bool
	// Attached says that an event is enabled, and sets Source.User, the Tag of its records. first is that no other program has one of its
	// name; the program may have had it for gap.
	Attached(src *Source, first bool, gap time.Duration)
	// Keeps reports after Reader.AskAgain whether an event is still selected. Else its records of before are read.
	Keeps(src *Source) bool
	// Detached says that no program has an event of the name any more that is selected.
	Detached(name string)
	// Disabled says that a program had disabled an event, for at most so long, because the Reader did not read for 10 s, and its rings were
	// full. Records of that time are in no count.
	Disabled(src *Source, d time.Duration)
	// Ended says that the program has ended, or has closed all events: its last record was returned.
	Ended(memory uint64)
	// Failed is called if a program cannot be attached to, or with 0 if they cannot be looked for, and Refused with the number of processes
	// that do not let this one look into them.
	Failed(pid int32, err error)
	Refused(processes int)
	// Counts reports whether a record is selected, with ReaderOptions.Counts or Snapshot.
	Counts(rec *live.Record) bool
}

// ReaderOptions configure a [Reader].
type ReaderOptions struct {
	Patterns   []string // of names, which match at least all events that Tool.Wants selects
	RingSize   int      // see Options.RingSize
	RingMemory int      // see ProgramsOptions.RingMemory
	Callers    int      // see Options.Callers
	Limit      int      // see Options.Limit
	// Poll is the interval between looks for programs, and Latency the longest time that a record stays in its ring.
	Poll, Latency time.Duration
	// Counts counts records without returning them.
	Counts bool
	// Snapshot is the size in bytes of the latest records, which are kept for Reader.Snapshot; 0 means that ReadInto reads them.
	Snapshot int
}

// Reader reads the records of the programs that offer events in shared memory, as a session of package perf reads those of the kernel. Its
// methods may be called concurrently, but only one ReadInto or Snapshot runs at a time.
type Reader struct {
	o        ReaderOptions
	tool     Tool
	deadline atomic.Pointer[time.Time]
	wake     chan struct{}
	names    atomic.Int64 // events that are attached
	keeping  sync.WaitGroup

	mu sync.Mutex
	// Guarded by mu:
	programs *Programs
	window   *window        // nil without ReaderOptions.Snapshot
	of       map[string]int // by name: in how many programs an event is attached
	ended    map[string]*endedCounts
	gone     live.Counts // of others before
	last     live.Stats  // after Close
	refused  map[int32]bool
	stopped  bool
	closed   bool
	found    time.Time     // when programs were last looked for
	finding  bool          // they are being looked for
	polled   time.Time     // when the rings were last looked at
	lost     uint64        // at the last call of Overran
	paused   time.Duration // at the last call of Overran

	// Used by ReadInto, or by keep:
	record Record
	wait   time.Duration // until the next look at the rings
}

// shortest is the shortest time between two looks at rings.
const shortest = time.Millisecond

// NewReader attaches to the programs that there are.
func NewReader(tool Tool, o ReaderOptions) (*Reader, error) {
	r := &Reader{
		o: o, tool: tool, wait: shortest, wake: make(chan struct{}, 1), of: map[string]int{}, ended: map[string]*endedCounts{}, refused: map[int32]bool{},
	}
	r.programs = NewPrograms(ProgramsOptions{
		Options: Options{
			Patterns: o.Patterns, RingSize: ringSize(o.RingSize), Callers: o.Callers, Limit: o.Limit,
			Wants: r.wants, Attached: r.attached, Keep: r.keeps,
		},
		RingMemory: o.RingMemory, WantsProcess: tool.WantsProcess, Failed: tool.Failed, Refused: func(pid int32) { r.refused[pid] = true },
		Ended: r.end, Disabled: r.disabled, Joined: func(pid int32, memory uint64) { tool.Joined(pid, memory, r.asked(pid)) },
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = time.Now()
	if err := r.programs.Find(); err != nil {
		return nil, errors.Join(err, r.programs.Close())
	}
	r.sayRefused()
	if o.Snapshot > 0 {
		r.window = &window{size: o.Snapshot}
		r.keeping.Go(r.keep)
	}
	return r, nil
}

// ringSize returns the size of the rings of a program for a size of a ring of the kernel, of which there is one for each CPU.
func ringSize(size int) int {
	if size == 0 {
		return 0
	}
	all := MinRing
	for all < min(size, MaxRing) {
		all *= 2
	}
	return all
}

// ReadInto waits for the next record, as that of a session of package perf does. The slices in rec are valid until the next call.
func (r *Reader) ReadInto(rec *live.Record) error {
	if r.window != nil {
		return fmt.Errorf("shared memory: Snapshot returns the records: %w", fs.ErrInvalid)
	}
	for {
		r.mu.Lock()
		if r.closed {
			r.mu.Unlock()
			return fmt.Errorf("shared memory: %w", os.ErrClosed)
		}
		if r.o.Counts {
			r.count()
		} else if r.next() {
			r.take(rec)
			r.wait = shortest
			r.mu.Unlock()
			return nil
		}
		stopped, limited := r.stopped, r.programs.Limited()
		r.mu.Unlock()
		if stopped {
			return io.EOF
		}
		if err := r.await(limited); err != nil {
			return err
		}
	}
}

// next looks for the next record, and for programs when it is time to.
func (r *Reader) next() bool {
	if r.programs.Next(&r.record) {
		return true
	}
	r.find()
	r.poll()
	return r.programs.Next(&r.record)
}

// count counts what programs have written.
func (r *Reader) count() {
	r.find()
	r.poll()
	for r.nextCounted() {
	}
}

// nextCounted looks for the next record that is selected, and counts the others.
func (r *Reader) nextCounted() bool {
	for r.programs.Next(&r.record) {
		var rec live.Record
		r.take(&rec)
		if r.tool.Counts(&rec) {
			return true
		}
		r.record.Source.unwanted++
	}
	return false
}

// take gives the record the form that the kernel's have.
func (r *Reader) take(rec *live.Record) {
	src := r.record.Source
	*rec = live.Record{
		Kind: live.Sample, Time: r.programs.Wall(r.record.Time), Monotonic: r.record.Time, CPU: -1, PID: src.PID,
		Tag: src.User, Callchain: r.record.Callers, Raw: r.record.Raw,
	}
}

// await waits until it is time for the next look, or for the deadline. limited is the time until events are enabled again.
func (r *Reader) await(limited time.Duration) error {
	wait := r.wait
	r.wait = min(2*r.wait, r.o.Latency)
	if limited > 0 && limited <= wait {
		wait, r.wait = limited, shortest // a flood goes on then
	}
	if at := r.deadline.Load(); at != nil && !at.IsZero() {
		left := time.Until(*at)
		if left <= 0 {
			return fmt.Errorf("shared memory: %w", os.ErrDeadlineExceeded)
		}
		wait = min(wait, left)
	}
	r.sleep(wait)
	return nil
}

// sleep waits for a while, or until SetDeadline or Close is called.
func (r *Reader) sleep(wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.wake:
	}
}

func (r *Reader) awake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// SetDeadline sets the time until which ReadInto waits. It also applies to a call in progress. After the deadline, ReadInto still returns
// records that are ready. The zero time means no limit.
func (r *Reader) SetDeadline(t time.Time) {
	r.deadline.Store(&t)
	r.awake()
}

// Delivered returns a time of CLOCK_MONOTONIC in nanoseconds: after a call of ReadInto found no record, it has returned all that are not
// younger, but late ones.
func (r *Reader) Delivered() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.programs.Until()
}

// find looks for programs when it is time to.
func (r *Reader) find() {
	if now := time.Now(); now.Sub(r.found) >= r.o.Poll {
		r.findBy(r.programs.Find)
		r.found = now
	}
}

func (r *Reader) findBy(find func() error) {
	if r.stopped || r.closed {
		return
	}
	r.finding = true
	err := find()
	r.finding = false
	r.sayRefused()
	if err != nil {
		r.tool.Failed(0, err)
	}
}

func (r *Reader) sayRefused() {
	if n := len(r.refused); n > 0 {
		r.tool.Refused(n)
	}
	clear(r.refused)
}

// AttachProcess attaches to the events that a process offers, also if Tool.WantsProcess does not select it.
func (r *Reader) AttachProcess(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.findBy(func() error { return r.programs.AttachProcess(int32(pid)) })
}

// asked reports whether AttachProcess is being called for a process.
func (r *Reader) asked(pid int32) bool { return pid == r.programs.expected }

// AskAgain asks Tool.Keeps and Wants about all events: what they select has changed.
func (r *Reader) AskAgain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.programs.Reselect()
}

func (r *Reader) wants(e Event) bool { return r.tool.Wants(e, r.asked(e.PID)) }

func (r *Reader) attached(src *Source) {
	src.name = tracepoint.System + ":" + src.Declaration.Name
	r.of[src.name]++
	first := r.of[src.name] == 1
	if first {
		r.names.Add(1)
	}
	gap := time.Duration(0)
	switch {
	case r.finding:
		gap = time.Since(r.found)
	case !r.expects(src.Declaration.Name): // else the program has enabled it before it wrote
		gap = time.Since(r.polled)
	}
	r.tool.Attached(src, first, gap)
}

// expects reports whether programs know that an event of the name is selected, before they register it.
func (r *Reader) expects(name string) bool {
	return (&Options{Patterns: r.o.Patterns}).wants(Event{Declaration: tracepoint.Declaration{Name: name}})
}

// poll copies what programs have written.
func (r *Reader) poll() {
	r.programs.Poll()
	r.polled = time.Now()
}

func (r *Reader) keeps(src *Source) bool {
	keeps := r.tool.Keeps(src)
	if !keeps {
		r.leave(src)
	}
	return keeps
}

// leave notes that a program does not offer an event any more, or that it is not selected.
func (r *Reader) leave(src *Source) {
	if r.of[src.name]--; r.of[src.name] == 0 {
		delete(r.of, src.name)
		r.names.Add(-1)
		r.tool.Detached(src.name)
	}
}

func (r *Reader) disabled(list []*Source, d time.Duration) {
	for _, src := range list {
		src.atLeast = true
		r.tool.Disabled(src, d)
	}
}

// Pause disables an event until the next second.
func (r *Reader) Pause(src *Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopped && !r.closed { // else its memory may be gone
		src.Pause()
	}
}

// Events returns how many names the attached events have. It waits for nothing.
func (r *Reader) Events() int { return int(r.names.Load()) }

// Stop disables the events. ReadInto returns the records written before, and then io.EOF.
func (r *Reader) Stop() error {
	r.mu.Lock()
	r.stopped = true
	r.programs.Stop()
	r.mu.Unlock()
	r.awake()
	return nil
}

// Close detaches from all programs, which is fast.
func (r *Reader) Close() error {
	last, err := r.Stats()
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return nil
	}
	r.closed, r.last = true, last
	err = errors.Join(err, r.programs.Close())
	r.mu.Unlock()
	r.awake()
	r.keeping.Wait()
	return err
}

// State is that of a session without rings of the kernel.
func (r *Reader) State() live.State { return live.State{} }

// Stats returns the counts by name of event: those of all programs together.
func (r *Reader) Stats() (t live.Stats, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.last, nil
	}
	t.CPUs = runtime.NumCPU()
	switch {
	case r.o.Counts:
		r.forgetEnded()
		r.count()
	case r.window != nil:
		t.BufferSize = r.window.size / t.CPUs
		r.fill() // programs may have ended since
	}
	t.Sources, t.Detached, t.Late = r.counts(), r.gone, r.programs.Late()
	return t, nil
}

// Overran reports whether records may have been lost, or kept from being written, since the last call. Programs learn that this reader
// lives, though it may leave records unread.
func (r *Reader) Overran() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.programs.Renew()
	moved := r.forgetEnded()
	lost, paused := r.gone.Lost, r.gone.Paused
	for _, e := range r.ended {
		lost += e.Lost
		paused += e.Paused
	}
	r.each(func(src *Source) {
		c := src.counts()
		lost += c.Lost
		paused += c.Paused
	})
	more := moved || lost != r.lost || paused != r.paused
	r.lost, r.paused = lost, paused
	return more
}
