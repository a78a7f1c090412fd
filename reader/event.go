package reader

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
)

// event is an attached event: one of the kernel, or one of a program in shared memory. It is the Tag of its records.
type event struct {
	name    string
	reading atomic.Pointer[reading]

	// Used by Next only:
	writer  int32          // process that wrote the last record
	writers map[int32]bool // running processes that wrote a record; nil beyond maxWriters
	used    usage          // with Options.Limit or ProgramLimit

	// Of an event in shared memory:
	task       *task           // its program
	attachedBy *record.Process // the same when it was attached
	pause      func()          // disables it until the next second

	// Of an event of the kernel:
	tracepoint *tracefs.Event
	filter     string     // that the kernel evaluates for the first source
	dividing   sync.Mutex // held while rest changes; locked before Reader.mu
	// Guarded by Reader.mu:
	first      attached
	rest       attached // has the records that filter drops; nil while they are not selected
	wantsRest  bool     // they are selected
	isDividing bool     // divide runs, or begins
	divided    bool     // there was a rest
	saidNoRoom bool     // there is none for rest
	processes  map[int32]bool
	gone       bool       // detached, or being detached
	limited    limitState // of Options.Limit and ProgramLimit
}

// reading is how the records of an event are read.
type reading struct {
	decoder *record.Decoder
	parts   []part // that the Reader evaluates
	all     bool   // all records are selected that the kernel has not dropped
	copies  *record.Copies
}

// newReading returns how records are read of which the kernel has evaluated a filter.
func (r *Reader) newReading(d *record.Decoder, c choice, filter string) *reading {
	return &reading{
		decoder: d, parts: c.parts, copies: &r.originals,
		all: len(c.parts) == 1 && c.parts[0].processes == nil && (c.parts[0].where == nil || c.plan.Kernel == filter && len(c.plan.Reader) == 0),
	}
}

// wants reports whether a record is selected, and whether it is not because it is the copy of a declared record: a copy of one that was
// selected, or that its selection did not select.
func (rd *reading) wants(rec *record.Record) (wanted, isCopy bool) {
	if rd.all && !rec.Duplicate { // most often
		rd.copies.Add(rec, true)
		return true, false
	}
	original, duplicate := rd.copies.Original(rec)
	if duplicate && original.Selected {
		return false, true
	}
	for i := range rd.parts {
		p := &rd.parts[i]
		switch {
		case duplicate && p.of.name(tracepoint.System, original.Event):
			isCopy = true
		case p.processes != nil && !p.processes[rec.PID]:
		case rd.all || p.where.Match(rec):
			wanted = true
		}
	}
	rd.copies.Add(rec, wanted)
	return wanted, isCopy && !wanted
}

// readingOf returns how the records of an event are read. The format of an event does not change while it is attached.
func (r *Reader) readingOf(e *event) (*reading, error) {
	if rd := e.reading.Load(); rd != nil {
		return rd, nil
	}
	f, err := e.tracepoint.Format()
	if err != nil {
		return nil, err
	}
	d, err := record.NewDecoder(e.tracepoint.System(), f)
	if err != nil {
		return nil, fmt.Errorf("decoding event %s: %w", e.name, err)
	}
	e.reading.CompareAndSwap(nil, r.newReading(d, r.choose(*r.selected.Load(), e.tracepoint.System(), e.tracepoint.Name(), d), e.filter))
	return e.reading.Load(), nil
}

// kernelEvents returns the events of the kernel that are attached.
func (r *Reader) kernelEvents() []*event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.attached))
}

// update makes an event of the kernel keep to the selection, which may have changed since it was attached.
func (r *Reader) update(e *event) {
	rd, err := r.readingOf(e)
	if err != nil {
		return // reported when it is attached
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.gone || r.closed || e.first == nil {
		return
	}
	c := r.choose(*r.selected.Load(), e.tracepoint.System(), e.tracepoint.Name(), rd.decoder)
	if len(c.parts) == 0 { // its records keep what selected them
		r.leave(e)
		return
	}
	filter := e.filter
	if e.divided {
		filter = noFilter
	}
	e.processes = c.processes
	e.each(func(a attached) { a.SetProcesses(e.processes) })
	e.reading.Store(r.newReading(rd.decoder, c.from(c.processes), filter))
	e.wantsRest = e.filter != "" && e.filter != c.plan.Kernel
	r.divideSoon(e)
}

// noFilter is none that a plan has.
const noFilter = "\x00"

// divideSoon starts divide, unless there is nothing to do. The caller holds mu.
func (r *Reader) divideSoon(e *event) {
	if e.wantsRest != (e.rest != nil) && !e.isDividing && !e.gone && !r.closed && e.limited == unlimited {
		e.isDividing = true
		r.background.Go(func() { r.divide(e) })
	}
}

// divideMore starts divide where there was no room before. The caller holds mu.
func (r *Reader) divideMore() {
	for _, e := range r.attached {
		if e.first != nil {
			r.divideSoon(e)
		}
	}
}

// divide attaches a second time to an event of which other records are selected than the kernel's filter lets through, for those alone; or
// detaches from them.
func (r *Reader) divide(e *event) {
	e.dividing.Lock()
	defer e.dividing.Unlock()
	for rest, o := r.nextDivision(e); rest != nil || o != nil; rest, o = r.nextDivision(e) {
		var err error
		if rest != nil {
			err = rest.Detach()
		} else {
			rest, err = r.kernel.Attach(e.name, o)
			r.divided(e, rest, err)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, os.ErrClosed) {
			r.notices.add(Notice{Kind: NoticeFailed, Event: e.name, Err: err})
		}
	}
}

// nextDivision returns what divide is to detach from, or the options for attaching, for which there is room then; neither if nothing is
// left to do.
func (r *Reader) nextDivision(e *event) (rest attached, o *perf.AttachOptions) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case e.wantsRest == (e.rest != nil) || e.gone || r.closed:
	case e.rest != nil:
		rest, e.rest = e.rest, nil
		r.rests--
	case r.hasRoom():
		r.rests++
		e.divided = true // from now on the Reader evaluates all conditions
		rd := *e.reading.Load()
		rd.all = false
		e.reading.Store(&rd)
		o = r.attachOptions(e, "!("+e.filter+")")
	case !e.saidNoRoom:
		e.saidNoRoom = true
		r.notices.add(tooMany(r.most, "", "the other records of "+e.name))
	}
	e.isDividing = rest != nil || o != nil
	return rest, o
}

// divided notes that an event is attached a second time, or that it is not until the next selection.
func (r *Reader) divided(e *event, rest attached, err error) {
	r.mu.Lock()
	if err != nil {
		r.rests--
		e.wantsRest = false
		r.mu.Unlock()
		return
	}
	e.rest, e.saidNoRoom = rest, false
	rest.SetProcesses(e.processes) // they may be others by now
	limited := e.limited != unlimited
	r.mu.Unlock()
	if limited { // meanwhile
		_ = rest.Pause() // as the first, of which there was a notice
	}
}

// leave detaches from an event that is not selected any more, or whose programs have exited. The caller holds mu.
func (r *Reader) leave(e *event) {
	e.gone = true
	delete(r.attached, e.name)
	r.leaving[e.name] = true
	r.background.Go(func() { r.release(e) })
}

// release detaches from an event that is gone. The session attaches to it again if a program registers it anew, or another one has it, and
// if it is selected again.
func (r *Reader) release(e *event) {
	err := r.detach(e)
	r.notices.add(Notice{Kind: NoticeDetached, Event: e.name, Err: err})
	r.mu.Lock()
	delete(r.leaving, e.name)
	r.divideMore()
	closed := r.closed
	r.mu.Unlock()
	if !closed && !isUserEvents(e.tracepoint.System()) {
		r.attach(e.tracepoint)
	}
}

// detach detaches from an event that is gone.
func (r *Reader) detach(e *event) error {
	e.dividing.Lock()
	defer e.dividing.Unlock()
	r.mu.Lock()
	if e.rest != nil {
		r.rests--
	}
	r.mu.Unlock()
	return e.all(attached.Detach)
}

// all calls f with what is attached to an event. No other goroutine changes that.
func (e *event) all(f func(attached) error) (err error) {
	e.each(func(a attached) { err = errors.Join(err, f(a)) })
	return err
}

func (e *event) each(f func(attached)) {
	f(e.first)
	if e.rest != nil {
		f(e.rest)
	}
}

// attachOptions returns the options of attaching to an event.
func (r *Reader) attachOptions(e *event, filter string) *perf.AttachOptions {
	o := &perf.AttachOptions{Filter: filter, CountOnly: r.o.Read == ReadCounts, Tag: e, Processes: e.processes}
	if r.errorRings && hasErrors(e.tracepoint.System(), e.tracepoint.Name()) {
		o.Ring = errorRing
	}
	if r.o.limited() {
		o.PausedRing = limitedRing
	}
	return o
}

// Names of rings that a flood of other records does not fill: those of errors, and those of events that were above a limit, the floods.
const (
	errorRing   = "errors"
	limitedRing = "limited"
)

// maxWriters is how many writers of an event are tracked. With more of them, no exit is noticed.
const maxWriters = 1024

// wrote notes that a process wrote a record. The end of one in another PID namespace, which has no id, is not noticed, so it
// is not known when the last writer ends.
func (e *event) wrote(pid int32) {
	switch {
	case e.writers == nil:
	case pid == 0:
		e.writers = nil
	case pid != e.writer:
		e.writer = pid
		e.writers[pid] = true
		if len(e.writers) > maxWriters {
			e.writers = nil
		}
	}
}
