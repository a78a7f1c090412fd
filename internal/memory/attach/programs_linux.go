package attach

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/sys"
)

// ProgramsOptions say which events of which programs a tool wants.
type ProgramsOptions struct {
	Options // of the session in each program

	// Patience is how long the records of other programs wait for one that is not complete: its goroutine has no processor, or its
	// program is stopped. Records that come after that are out of order. 0 is a second.
	Patience time.Duration
	// RingMemory limits the rings of all programs together, in bytes; 0 means any number. While little is left of it, further programs have
	// rings smaller than RingSize. Those for which nothing is left are attached to when others have ended.
	RingMemory int
	// WantsProcess selects programs; nil selects all.
	WantsProcess func(pid int32) bool
	// Failed is called if a program cannot be attached to, which without permission may be any that has locked a file.
	Failed func(pid int32, err error)
	// Refused is called for a process that does not let this one look into it, once or more. Failed gets that, too.
	Refused func(pid int32)
	// Joined is called when a session of a program was taken, whose Source.Memory that is. It may have no event yet.
	Joined func(pid int32, memory uint64)
	// Disabled is called when a program had disabled the events, for at most so long, because Find and Renew were not called for 10 s
	// and its rings were full. They are enabled again. Records of that time are in no count.
	Disabled func(sources []*Source, d time.Duration)
	// Ended is called when the program has ended, or has closed all events: its last record was returned.
	Ended func(memory uint64, sources []*Source)
}

// ErrTooManyPrograms says that ProgramsOptions.RingMemory has no room for the rings of another program.
var ErrTooManyPrograms = errors.New("too many programs")

// Programs reads the records of all programs of the machine that offer events in memory, in order of time. It is not safe for
// concurrent use.
type Programs struct {
	o      ProgramsOptions
	known  map[Candidate]*traced                            // nil for those that offer nothing, or refuse
	begin  map[Candidate]bool                               // those that could not be opened once: they may not have been complete
	paused map[int32]time.Time                              // processes that are not looked at until then
	open   func(pid int) (p *Program, files int, err error) // open
	all    []*traced                                        // with a session; also those that have ended and are not read to the end

	batch   batch
	until   uint64 // all older records were copied
	offset  int64  // from CLOCK_MONOTONIC to the machine's clock
	newest  uint64 // time of a record that was returned
	late    uint64
	limited uint64 // when events that the limit has disabled are enabled again; MaxUint64 without any
	stopped bool

	expected int32 // process of AttachProcess
}

type traced struct {
	program *Program
	session *Session // nil while no event is wanted
	looked  uint32   // numbers of events below this were looked at without a session
	busy    bool     // all sessions were taken
	ended   bool
	waits   uint64 // since when a record is not complete; 0 if none is
}

// NewPrograms returns a tool without programs. See [Programs.Find].
func NewPrograms(o ProgramsOptions) *Programs {
	o.Patience = cmp.Or(o.Patience, time.Second)
	return &Programs{o: o, known: map[Candidate]*traced{}, begin: map[Candidate]bool{}, paused: map[int32]time.Time{}, open: open, limited: math.MaxUint64}
}

// expiry is how long a tool that is stopped keeps events enabled whose rings are full. Find and Renew renew it.
const expiry = 10 * time.Second

// Find attaches to programs that were not there at the last call, and notices which are gone.
func (p *Programs) Find() error {
	if p.stopped {
		return nil
	}
	list, err := Find()
	if err == nil {
		p.update(list)
	}
	return err
}

func (p *Programs) update(list []Candidate) {
	there := make(map[Candidate]bool, len(list))
	for _, c := range list {
		there[c] = true
	}
	alive := map[int32]bool{} // processes whose program goes on: they have only one
	for c, t := range p.known {
		switch {
		// The kernel lists the locks in several parts: one can be missing when others go meanwhile.
		case there[c] || t != nil && sys.Locked(t.program.dataFD):
			if t != nil && !t.ended {
				alive[c.PID] = true
				if t.session == nil {
					p.join(t)
				}
			}
			continue
		case t != nil:
			if t.session == nil && !t.ended {
				_ = t.program.Close()
			}
			t.ended = true
		}
		delete(p.known, c)
		delete(p.begin, c)
	}
	now := time.Now()
	maps.DeleteFunc(p.paused, func(_ int32, until time.Time) bool { return now.After(until) })
	for _, locks := range ByProcess(list) {
		pid := locks[0].PID
		if _, paused := p.paused[pid]; !alive[pid] && (!paused || pid == p.expected) && slices.ContainsFunc(locks, p.fresh) {
			p.look(locks)
		}
	}
	p.Renew()
}

// fresh reports whether a candidate was not looked at, or only before the process may have been complete.
func (p *Programs) fresh(c Candidate) bool {
	t, known := p.known[c]
	return t == nil && (!known || p.begin[c])
}

// AttachProcess is Find for a process that will register events, and waits for that: it takes a session before there are any.
func (p *Programs) AttachProcess(pid int32) error {
	p.expected = pid
	defer func() { p.expected = 0 }()
	maps.DeleteFunc(p.known, func(c Candidate, t *traced) bool { return c.PID == pid && t == nil })
	for range 10 { // see Find
		if err := p.Find(); err != nil {
			return err
		}
		for c, t := range p.known {
			if c.PID == pid && t != nil {
				return nil
			}
		}
	}
	return nil
}

// Reselect asks Options.Wants again about the events that are not enabled, and Options.Keep about the others.
func (p *Programs) Reselect() {
	if p.stopped {
		return
	}
	for _, t := range p.all {
		if !t.ended {
			t.program.guard(t.session.reselect)
		}
	}
	for _, t := range p.known {
		if t != nil && t.session == nil { // the next Find joins
			t.looked = 0
		}
	}
	maps.DeleteFunc(p.known, func(_ Candidate, t *traced) bool { return t == nil }) // it may be wanted now
	clear(p.begin)
}

// Renew keeps the events of a tool enabled that is not stopped, but leaves records unread and does not call Find.
func (p *Programs) Renew() {
	for _, t := range p.all {
		if !t.ended && !p.stopped { // the files of one that has ended may be cut off
			t.program.guard(func() {
				if d := t.session.Renew(expiry); d > 0 && p.o.Disabled != nil {
					p.o.Disabled(t.session.attached(), d)
				}
			})
		}
	}
}

// join takes a session of a program if it has events that are wanted. Programs have few sessions.
func (p *Programs) join(t *traced) {
	var err error
	t.program.guard(func() {
		var list []Event
		if list, t.looked = t.program.Events(t.looked); int32(t.program.pid) != p.expected && !slices.ContainsFunc(list, p.o.wants) {
			return
		}
		o := p.o.Options
		if o.RingSize = p.ringSize(); o.RingSize == 0 {
			err = fmt.Errorf("%w: the rings of %d take what there is for rings, %d KiB", ErrTooManyPrograms, len(p.all), p.o.RingMemory>>10)
			return
		}
		if t.session, err = t.program.Attach(o); err == nil {
			t.session.Renew(expiry)
		}
	})
	switch {
	case t.program.cut:
		err = errCutOff
	case err == nil:
		if t.session == nil {
			return
		}
		if p.all = append(p.all, t); p.o.Joined != nil {
			p.o.Joined(int32(t.program.pid), t.program.inode)
		}
		return
	}
	if t.session = nil; errors.Is(err, ErrBusy) || errors.Is(err, ErrTooManyPrograms) { // until a tool ends, or a program
		if t.looked = 0; !t.busy {
			if tools := t.program.tools(); len(tools) > 0 && errors.Is(err, ErrBusy) {
				err = fmt.Errorf("%w by %s", err, strings.Join(tools, ", "))
			}
			p.fail(int32(t.program.pid), err)
		}
		t.busy = true
		return
	}
	t.ended = true
	p.fail(int32(t.program.pid), errors.Join(err, t.program.Close()))
}

// Limits of the rings of a program where their memory is limited: a part of what is left of it, and a size below which they are not made.
const (
	ringPart  = 32
	leastRing = 64 << 10
)

// ringSize returns the size of the rings of another program, or 0 if there is no memory for them.
func (p *Programs) ringSize() int {
	size := cmp.Or(p.o.RingSize, defaultRingSize)
	if p.o.RingMemory == 0 {
		return size
	}
	left := p.o.RingMemory
	for _, t := range p.all {
		left -= int(t.session.size) * t.session.count
	}
	for size > leastRing && size > left/ringPart {
		size /= 2
	}
	if size > left {
		return 0
	}
	return size
}

func (p *Programs) fail(pid int32, err error) {
	if p.o.Failed != nil && !errors.Is(err, ErrNoMemory) && !errors.Is(err, fs.ErrNotExist) {
		p.o.Failed(pid, err)
	}
}

// look opens the memory of a process that has locked files: one of them may be its data. That takes some microseconds for each file
// that it has open, and processes may lock any number: those that offer no events are looked at for about 1 % of the time.
func (p *Programs) look(locks []Candidate) {
	pid := locks[0].PID
	fresh := slices.DeleteFunc(slices.Clone(locks), func(c Candidate) bool { return !p.fresh(c) })
	for _, c := range fresh {
		p.known[c] = nil
	}
	if p.o.WantsProcess != nil && pid != p.expected && !p.o.WantsProcess(pid) {
		return
	}
	program, lock, files, err := openLocked(locks, p.open)
	if err == nil && p.known[lock] != nil { // it was closed: see join
		err = errors.Join(ErrNoMemory, program.Close())
	}
	if err == nil {
		t := &traced{program: program}
		p.known[lock] = t
		p.join(t)
		return
	}
	if IsRefused(err) && p.o.Refused != nil {
		p.o.Refused(pid)
	}
	p.paused[pid] = time.Now().Add(time.Duration(files) * 500 * time.Microsecond)
	again := false
	for _, c := range fresh {
		p.begin[c] = !p.begin[c] // once
		again = again || p.begin[c]
	}
	if !again {
		p.fail(pid, err)
	}
}

// Poll copies what the programs have written since the last call. [Programs.Next] returns it.
func (p *Programs) Poll() {
	p.batch.compact()
	now := Now() // before the heads
	until := now
	mono, wall := sys.Clocks()
	p.offset = wall - mono
	p.limited = math.MaxUint64
	for _, t := range p.all {
		t.program.guard(func() {
			t.session.Update()
			if t.ended || p.stopped { // nothing waits for a record that is not complete
				t.session.drain(&p.batch)
			} else {
				t.session.collect(&p.batch, now)
				p.limited = min(p.limited, t.session.keepLimit(now))
			}
		})
		t.ended = t.ended || t.program.cut
		if t.ended {
			continue
		}
		switch {
		case t.session.complete == now:
			t.waits = 0
			continue
		case t.waits == 0:
			t.waits = now
		}
		if now-t.waits < uint64(p.o.Patience) {
			until = min(until, t.session.complete)
		}
	}
	if p.stopped {
		until = math.MaxUint64
	}
	p.batch.release(until)
	p.until = until
	p.all = slices.DeleteFunc(p.all, func(t *traced) bool { return t.ended && t.session.held == 0 && p.leave(t) })
}

func (p *Programs) leave(t *traced) bool {
	t.session.endLimit()
	if p.o.Ended != nil {
		p.o.Ended(t.program.inode, t.session.attached())
	}
	_ = errors.Join(t.session.Detach(), t.program.Close()) // of memory that is gone
	return true
}

// Next returns the next record that Poll has copied, and false if there is none.
func (p *Programs) Next(r *Record) bool {
	for p.batch.take(r) {
		if r.Source == nil {
			continue // the program enabled an event that is not wanted, before that was clear
		}
		r.Source.Read++
		if r.Time < p.newest {
			p.late++
		}
		p.newest = max(p.newest, r.Time)
		return true
	}
	return false
}

// Until returns a time: no older record comes from Next after those that Poll has copied, but late ones.
func (p *Programs) Until() uint64 { return p.until }

// Now returns the time of a record that a program writes now: CLOCK_MONOTONIC of the machine.
func Now() uint64 { return uint64(sys.Monotonic()) }

// Wall returns the time of a record by the machine's clock.
func (p *Programs) Wall(monotonic uint64) time.Time { return time.Unix(0, int64(monotonic)+p.offset) }

// Late returns how many records were returned after younger ones.
func (p *Programs) Late() uint64 { return p.late }

// Limited returns how long events are disabled that Options.Limit has disabled, until Poll enables one; 0 if none is.
func (p *Programs) Limited() time.Duration {
	if p.limited == math.MaxUint64 || p.stopped {
		return 0
	}
	now := Now()
	return time.Duration(max(p.limited, now+1) - now)
}

// Sources calls f with each event that is attached.
func (p *Programs) Sources(f func(*Source)) {
	for _, t := range p.all {
		for _, s := range t.session.sources {
			if s != nil {
				f(s)
			}
		}
	}
}

// Stop disables the events. Further calls of Poll read what was written before.
func (p *Programs) Stop() {
	p.stopped = true
	for _, t := range p.all {
		t.session.disable()
		t.session.endLimit()
	}
}

// Close detaches from all programs.
func (p *Programs) Close() (err error) {
	for _, t := range p.known {
		if t != nil && t.session == nil && !t.ended {
			err = errors.Join(err, t.program.Close())
		}
	}
	for _, t := range p.all {
		err = errors.Join(err, t.session.Detach(), t.program.Close())
	}
	p.all, p.known = nil, nil
	return err
}
