package reader

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/record"

	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/tracefs"
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
	dividing   sync.Mutex // serialises changes of rest; locked before Reader.mu
	// Guarded by Reader.mu:
	first   attached
	rest    attached   // has the records that filter drops; nil while they are not selected
	divided bool       // there was a rest
	gone    bool       // detached
	limited limitState // of Options.Limit and ProgramLimit
}

// attached is an event that a session of the kernel is attached to.
type attached interface {
	Detach() error
	Pause() error
	Resume() error
	Gap() time.Duration
	Complete() bool
}

// reading is how the records of an event are read.
type reading struct {
	decoder *record.Decoder
	parts   []part // that the Reader evaluates
	all     *selection
}

// newReading returns how records are read of which the kernel has evaluated a filter.
func newReading(d *record.Decoder, c choice, filter string) *reading {
	rd := &reading{decoder: d, parts: c.parts}
	if len(c.parts) == 1 && c.parts[0].processes == nil && (c.parts[0].where == nil || c.plan.Kernel == filter && len(c.plan.Reader) == 0) {
		rd.all = c.parts[0].of
	}
	return rd
}

// wants reports whether a record is selected, and whether it is not because it is the copy of a declared record.
func (rd *reading) wants(rec *record.Record) (wanted, isCopy bool) {
	if rd.all != nil { // most often
		isCopy = rd.all.copies.IsCopy(rec)
		return !isCopy, isCopy
	}
	for i := range rd.parts {
		p := &rd.parts[i]
		switch {
		case p.of.copies.IsCopy(rec): // also of a declared record that is not selected: it decides
			isCopy = true
		case p.processes != nil && !p.processes[rec.PID]:
		case p.where == nil || p.where.Match(rec):
			wanted = true
		}
	}
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
	e.reading.CompareAndSwap(nil, newReading(d, r.choose(*r.selected.Load(), e.tracepoint.System(), e.tracepoint.Name(), d), e.filter))
	return e.reading.Load(), nil
}

// kernelEvents returns the events of the kernel that are attached.
func (r *Reader) kernelEvents() iter.Seq[*event] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Values(slices.Collect(maps.Values(r.attached)))
}

// update makes an event of the kernel keep to the selection, which may have changed since it was attached.
func (r *Reader) update(e *event) {
	rd, err := r.readingOf(e)
	if err != nil {
		return // reported when it is attached
	}
	c := r.choose(*r.selected.Load(), e.tracepoint.System(), e.tracepoint.Name(), rd.decoder)
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.gone || r.closed || e.first == nil {
		return
	}
	if len(c.parts) == 0 { // its records keep what selected them
		e.gone = true
		delete(r.attached, e.name)
		r.background.Go(func() { r.release(e) })
		return
	}
	filter := e.filter
	if e.divided {
		filter = noFilter
	}
	e.reading.Store(newReading(rd.decoder, c, filter))
	if divide := e.filter != "" && e.filter != c.plan.Kernel; divide != (e.rest != nil) {
		r.background.Go(func() { r.divide(e) })
	}
}

// noFilter is none that a plan has.
const noFilter = "\x00"

// divide attaches a second time to an event of which other records are selected than the kernel's filter lets through, for those alone; or
// detaches from them.
func (r *Reader) divide(e *event) {
	e.dividing.Lock()
	defer e.dividing.Unlock()
	rd := e.reading.Load()
	plan := r.choose(*r.selected.Load(), e.tracepoint.System(), e.tracepoint.Name(), rd.decoder).plan
	r.mu.Lock()
	rest, want := e.rest, !e.gone && !r.closed && !plan.Never && plan.Kernel != e.filter
	if want && rest == nil {
		if !r.hasRoom() {
			r.notifyLocked(tooMany(r.most, "", "the other records of "+e.name))
			want = false
		} else {
			r.rests++
			e.divided = true
			e.reading.Store(&reading{decoder: rd.decoder, parts: rd.parts})
		}
	}
	r.mu.Unlock()
	switch {
	case want && rest == nil:
		o := r.attachOptions(e, "!("+e.filter+")")
		rest, err := r.kernel.Attach(e.name, o)
		r.mu.Lock()
		defer r.mu.Unlock()
		if err != nil {
			r.rests--
			if !errors.Is(err, fs.ErrNotExist) {
				r.notifyLocked(Notice{Kind: NoticeFailed, Event: e.name, Err: err})
			}
			return
		}
		e.rest = rest
	case !want && rest != nil:
		r.mu.Lock()
		e.rest = nil
		r.rests--
		r.mu.Unlock()
		if err := rest.Detach(); err != nil {
			r.notify(Notice{Kind: NoticeFailed, Event: e.name, Err: err})
		}
	}
}

// release detaches from an event that is gone. The session attaches to it again if a program registers it anew, or another one has it.
func (r *Reader) release(e *event) {
	err := r.detach(e)
	r.notify(Notice{Kind: NoticeDetached, Event: e.name, Err: err})
}

func (r *Reader) detach(e *event) error {
	e.dividing.Lock()
	defer e.dividing.Unlock()
	r.mu.Lock()
	first, rest := e.first, e.rest
	if e.rest = nil; rest != nil {
		r.rests--
	}
	r.mu.Unlock()
	err := first.Detach()
	if rest != nil {
		err = errors.Join(err, rest.Detach())
	}
	return err
}

// attachOptions returns the options of attaching to an event.
func (r *Reader) attachOptions(e *event, filter string) *perf.AttachOptions {
	o := &perf.AttachOptions{Filter: filter, CountOnly: r.o.Read == ReadCounts, Tag: e}
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

// recorded sets what the kernel recorded.
func recorded(ev *record.Record, rec *live.Record, process *record.Process) {
	ev.Time, ev.Monotonic, ev.CPU, ev.PID, ev.TID = rec.Time, rec.Monotonic, rec.CPU, rec.PID, rec.TID
	ev.CgroupID, ev.Callchain, ev.Process = rec.CgroupID, rec.Callchain, process
}
