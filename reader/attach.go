package reader

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
)

// source is an attached event.
type source struct {
	name    string
	event   *tracefs.Event
	decoder *record.Decoder
	task    *task                 // of an event in shared memory, which is that of one process; else nil
	where   *where.Condition      // that the reader evaluates; nil if the kernel has, or there is none
	gone    bool                  // detached; guarded by Reader.mu
	limited limitState            // guarded by Reader.mu
	role    role                  // of the kernel's events
	counted bool                  // Options.ProgramLimit counts the records of another source, which has all that this one has
	added   atomic.Pointer[added] // what additions select; nil if none has selected anything

	// Used by Next only:
	writer  int32          // process that wrote the last record
	writers map[int32]bool // running processes that wrote a record; nil beyond maxWriters
	used    usage          // with Options.Limit or ProgramLimit
	pause   func()         // disables an event in shared memory until the next second; nil for those of the kernel
}

// start attaches to the existing events and follows new ones. refused is why the kernel's are not read. On error it closes the session.
func (r *Reader) start(refused error) error {
	if r.kernel != nil {
		if r.o.Read != ReadCounts {
			r.processes.readAll()
		}
		if refused = r.attachAll(); refused != nil {
			if _, ok := r.session.(memoryReader); !ok || !r.optional(refused) {
				return errors.Join(refused, r.Close())
			}
			err := r.kernel.Close()
			r.kernel = nil // no call of ReadInto has begun
			if err != nil {
				return errors.Join(err, r.Close())
			}
		}
	}
	if err := r.begin(refused); err != nil {
		return errors.Join(err, r.Close())
	}
	r.tickAt = time.Now().Add(tickInterval)
	r.session.SetDeadline(r.tickAt)
	return nil
}

// memoryReader is a session that reads shared memory, too.
type memoryReader interface {
	events() int // names of those that are attached; the caller holds Reader.mu
	attachProcess(pid int)
}

// attachAll attaches to the kernel's events.
func (r *Reader) attachAll() error {
	events, err := r.list()
	if err != nil {
		return err
	}
	if err := r.checkLimits(len(events)); err != nil {
		return err
	}
	for _, e := range events {
		if isUserEvents(e.System()) && !r.o.NoFollow {
			continue // Follow attaches to it
		}
		if o := r.match(e); o != nil && !o.Later {
			src, err := r.kernel.Attach(e.String(), o)
			r.report(e, src, err)
		}
	}
	if !r.o.NoFollow && slices.ContainsFunc(r.selection.events, pattern.userEvents) {
		return r.kernel.Follow(r.match, r.report)
	}
	return nil
}

// begin ends Open: from now on there are notices of new events. It fails if there is nothing to read.
func (r *Reader) begin(refused error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened = true
	m, memory := r.session.(memoryReader)
	var failed []error
	for _, n := range r.notices {
		if n.Err != nil && (!memory || errors.Is(n.Err, errno.EINVAL) || errors.Is(n.Err, fs.ErrInvalid)) { // programs come and go, a filter stays wrong
			failed = append(failed, n.Err)
		}
	}
	if memory && refused == nil && len(r.attached) == 0 {
		refused = r.refusedEach()
	}
	attached := len(r.attached) > 0 || memory && m.events() > 0
	denied := errors.Is(refused, fs.ErrPermission)
	switch {
	case denied && (attached || len(failed) == 0 && !r.o.NoFollow):
		r.notifyLocked(Notice{Kind: NoticeTransport, Err: refused})
		return nil
	case attached:
		return nil
	case len(failed) > 1:
		return fmt.Errorf("%w; %d other events cannot be attached either", failed[0], len(failed)-1)
	case len(failed) > 0:
		return failed[0]
	case r.o.NoFollow || !slices.ContainsFunc(r.selection.events, pattern.userEvents):
		if !denied {
			refused = nil // there are none
		}
		return NoMatchError{r.o.Events, refused}
	}
	return nil
}

// NoMatchError is the error of [Open] if no event matches Options.Events, and none that appears later is read. It wraps
// [fs.ErrNotExist] and Kernel.
type NoMatchError struct {
	Patterns []string
	Kernel   error // why the kernel did not permit to look at its events, or nil
}

// Error names the patterns: the text of [fs.ErrNotExist] is about files.
func (e NoMatchError) Error() string {
	text := "no event matches " + strings.Join(e.Patterns, ", ")
	if e.Kernel != nil {
		text += "; the kernel's events are not read: " + e.Kernel.Error()
	}
	return text
}

// Unwrap returns [fs.ErrNotExist], and Kernel if it is not nil.
func (e NoMatchError) Unwrap() []error {
	if e.Kernel == nil {
		return []error{fs.ErrNotExist}
	}
	return []error{fs.ErrNotExist, e.Kernel}
}

// refusedEach takes the notices away if the kernel has refused each event for lack of permission, and returns the first reason.
func (r *Reader) refusedEach() error {
	var first error
	refused := func(n Notice) bool { return n.Event != "" && errors.Is(n.Err, fs.ErrPermission) }
	for _, n := range r.notices {
		if refused(n) {
			first = cmp.Or(first, n.Err)
		}
	}
	r.notices = slices.DeleteFunc(r.notices, refused)
	return first
}

// list returns the events that exist and are selected, sorted by name.
func (r *Reader) list() (events []*tracefs.Event, err error) {
	have := map[string]bool{}
	add := func(system, name string) error {
		e := r.dir.Event(system + ":" + name)
		if have[e.String()] || !r.selection.wants(system, name) {
			return nil
		}
		have[e.String()] = true
		plan, err := r.plan(e)
		if err == nil && plan.Never {
			r.noteNever(e.String())
		} else if err == nil {
			events = append(events, e)
		}
		return err
	}
	for _, p := range r.selection.events {
		if p.userEvents() {
			continue
		}
		names := []string{p.name}
		if p.glob {
			if names, err = r.namesIn(p.system); err != nil {
				return nil, err
			}
		}
		for _, name := range names {
			if err := add(p.system, name); err != nil {
				return nil, err
			}
		}
	}
	if !slices.ContainsFunc(r.selection.events, pattern.userEvents) {
		return events, nil
	}
	status, err := r.dir.Status()
	if err != nil {
		return nil, err
	}
	r.noTexts = status.Max > 0
	for _, e := range status.Events {
		system := tracepoint.System
		if ok, err := r.dir.Event(e.Name).Exists(); err == nil && !ok {
			system = tracepoint.MultiSystem
		}
		if err := add(system, e.Name); err != nil && !errors.Is(err, fs.ErrNotExist) { // its program has just exited
			return nil, err
		}
	}
	slices.SortFunc(events, func(a, b *tracefs.Event) int { return cmp.Compare(a.String(), b.String()) })
	return events, nil
}

// namesIn returns the names of the events of a system.
func (r *Reader) namesIn(system string) (names []string, err error) {
	list, err := os.ReadDir(r.dir.Path("events", system))
	if err != nil {
		return nil, fmt.Errorf("listing the events of system %s: %w", system, err)
	}
	for _, e := range list {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// plan returns where Options.Where is evaluated for an event that was selected by its name.
func (r *Reader) plan(e *tracefs.Event) (where.Plan, error) {
	if r.o.Where == nil && r.o.Kinds == nil && isUserEvents(e.System()) {
		return where.Plan{}, nil
	}
	f, err := e.Format()
	if err != nil || r.o.Where == nil && r.o.Kinds == nil {
		return where.Plan{}, err
	}
	d, err := record.NewDecoder(e.System(), f)
	if err != nil {
		return where.Plan{}, fmt.Errorf("decoding event %s: %w", e, err)
	}
	if !r.o.wantsKind(d) {
		return where.Plan{Never: true}, nil
	}
	if r.o.Where == nil {
		return where.Plan{}, nil
	}
	plan := r.planFor(d)
	if r.o.Read == ReadCounts && len(plan.Reader) > 0 {
		err = fmt.Errorf("the kernel does not evaluate %s, and counts no records of %s: %w", strings.Join(plan.Reader, " nor "), e, fs.ErrInvalid)
	}
	return plan, err
}

// wantsKind reports whether the options select an event by the kind of its records.
func (o *Options) wantsKind(d *record.Decoder) bool {
	kind, one := d.Kind()
	return o.Kinds == nil || !one || slices.Contains(o.Kinds, kind)
}

// noteNever notes an event none of whose records can meet the condition.
func (r *Reader) noteNever(event string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.never) < maxKinds { // programs make up names
		r.never[event] = true
	}
}

// maxKinds is how many declarations are remembered, at 12 KB for those with the most fields.
const maxKinds = 4096

// match returns the options for attaching to an event, or nil to skip it. Goroutines of the session call it, too.
func (r *Reader) match(e *tracefs.Event) *perf.AttachOptions {
	if !r.selection.wants(e.System(), e.Name()) {
		return nil
	}
	if r.isLeftOut(e.String()) {
		return &perf.AttachOptions{Later: true}
	}
	// If the kernel is removing the event, attaching fails, and the session looks at the event again.
	plan, err := r.plan(e)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.notify(Notice{Kind: NoticeFailed, Event: e.String(), Err: err})
		return nil
	} else if plan.Never {
		r.noteNever(e.String())
		return nil
	}
	return r.admit(e, true, perf.AttachOptions{Filter: plan.Kernel, CountOnly: r.o.Read == ReadCounts})
}

// admit returns the options with the rings of an event that Options, or else additions, select, and takes room for it. It returns nil if it is
// attached, and what leaveOut returns if there is no room.
func (r *Reader) admit(e *tracefs.Event, forOptions bool, o perf.AttachOptions) *perf.AttachOptions {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gonePaused(e.String(), forOptions)
	attached := r.attachedFor(forOptions)
	if attached[e.String()] {
		return nil
	}
	if !r.hasRoom() {
		return r.leaveOut(e.String())
	}
	attached[e.String()] = true
	if r.errorRings && hasErrors(e.System(), e.Name()) {
		o.Ring = errorRing
	}
	if r.o.limited() {
		o.PausedRing = limitedRing
	}
	return &o
}

// Names of rings that a flood of other records does not fill: those of errors, and those of events that were above a limit, the floods.
const (
	errorRing   = "errors"
	limitedRing = "limited"
)

// report records the result of attaching to an event that match selected.
func (r *Reader) report(e *tracefs.Event, src *perf.Source, err error) {
	r.reported(e, src, err, r.attached)
}

// reported records the result of attaching to an event, whose name is among the attached ones meanwhile.
func (r *Reader) reported(e *tracefs.Event, src *perf.Source, err error, attached map[string]bool) {
	role := optionsToo
	if err == nil {
		var s *source
		if s, err = r.sourceOf(src); err != nil {
			err = errors.Join(err, r.kernel.detach(src))
		} else {
			role = s.role
		}
	}
	var gap time.Duration
	if err == nil && role == optionsToo {
		gap = r.kernel.gap(src)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	gap = max(gap, r.leftOutFor(e.String()))
	if err != nil {
		delete(attached, e.String())
		if errors.Is(err, fs.ErrNotExist) && isUserEvents(e.System()) || errors.Is(err, os.ErrClosed) {
			return // the program has exited, or the caller has stopped
		}
		r.notifyLocked(Notice{Kind: NoticeFailed, Event: e.String(), Err: err})
		return
	}
	if r.opened && role != elsewhere { // Open reports no existing events
		r.notifyLocked(Notice{Kind: NoticeAttached, Event: e.String(), Gap: gap})
	}
}

// sourceOf returns the state of a source. It creates the state if the first record comes before report. The format of
// an event does not change while it is attached.
func (r *Reader) sourceOf(src *perf.Source) (*source, error) {
	r.mu.Lock()
	s := r.sources[src]
	r.mu.Unlock()
	if s != nil {
		return s, nil
	}
	e := r.kernel.describe(src)
	f, err := e.Format()
	if err != nil {
		return nil, err
	}
	d, err := record.NewDecoder(e.System(), f)
	if err != nil {
		return nil, fmt.Errorf("decoding event %s: %w", e, err)
	}
	s = &source{name: e.String(), event: e, decoder: d, writers: map[int32]bool{}}
	a, isAdded := r.kernel.tag(src).(*added)
	switch {
	case isAdded:
		s.role, s.where = a.role, r.o.Where
		s.counted = a.role == elsewhere && r.planFor(d).Kernel == ""
		s.added.Store(a)
	case r.o.Where != nil && len(r.planFor(d).Reader) > 0:
		s.where = r.o.Where
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if other := r.sources[src]; other != nil { // that another goroutine has made meanwhile
		return other, nil
	}
	r.sources[src] = s
	return s, nil
}
