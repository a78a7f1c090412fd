package reader

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"
	"github.com/userevents/userevents-go/tracepoint"
)

// start attaches to the existing events and follows new ones. refused is why the kernel's are not read. On error it closes the session.
func (r *Reader) start(refused error) error {
	if r.kernel != nil {
		if r.o.Read != ReadCounts {
			r.processes.readAll()
		}
		if refused = r.attachAll(); refused != nil {
			if r.memory == nil || !r.optional(refused) {
				return errors.Join(refused, r.Close())
			}
			if err := r.kernel.Close(); err != nil {
				return errors.Join(err, r.Close())
			}
			r.kernel = nil
			r.join()
		}
	}
	if err := r.begin(refused); err != nil {
		return errors.Join(err, r.Close())
	}
	r.tickAt = time.Now().Add(tickInterval)
	r.source.SetDeadline(r.tickAt)
	return nil
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
		if !isUserEvents(e.System()) || r.o.NoFollow { // else the session follows it
			r.attach(e)
		}
	}
	return r.followKernel(*r.selected.Load())
}

// attach attaches to an event of the kernel, if it is selected and not attached.
func (r *Reader) attach(e *tracefs.Event) {
	if o := r.match(e); o != nil && !o.Later {
		src, err := r.kernel.Attach(e.String(), o)
		r.report(e, src, err)
	}
}

// attachOthers attaches to the selected events of other systems than user events.
func (r *Reader) attachOthers() error {
	events, err := r.listOthers()
	for _, e := range events {
		r.attach(e)
	}
	return err
}

// followKernel makes the session attach to user events, if selections have any.
func (r *Reader) followKernel(s selections) error {
	if r.follows || r.o.NoFollow || !s.userEvents() {
		return nil
	}
	r.follows = true
	err := r.kernel.Follow(r.match, r.report)
	r.follows = err == nil
	return err
}

// begin ends Open: from now on there are notices of new events. It fails if there is nothing to read.
func (r *Reader) begin(refused error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.opened = true
	memory := r.memory != nil
	var failed []error
	r.notices.keep(func(n Notice) bool {
		if n.Err != nil && (!memory || errors.Is(n.Err, errno.EINVAL) || errors.Is(n.Err, fs.ErrInvalid)) { // programs come and go, a filter stays wrong
			failed = append(failed, n.Err)
		}
		return true
	})
	if memory && refused == nil && len(r.attached) == 0 {
		refused = r.refusedEach()
	}
	attached := len(r.attached) > 0 || memory && r.memory.Events() > 0
	denied := errors.Is(refused, fs.ErrPermission)
	switch {
	case denied && (attached || len(failed) == 0 && !r.o.NoFollow):
		r.notices.add(Notice{Kind: NoticeTransport, Err: refused})
		return nil
	case attached:
		return nil
	case len(failed) > 1:
		return fmt.Errorf("%w; %d other events cannot be attached either", failed[0], len(failed)-1)
	case len(failed) > 0:
		return failed[0]
	case r.o.NoFollow || !r.selected.Load().userEvents():
		if !denied {
			refused = nil // there are none
		}
		return NoMatchError{r.o.Events, refused}
	}
	return nil
}

// NoMatchError is the error of [Open] if no event matches Selection.Events, and none that appears later is read. It wraps
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
	r.notices.keep(func(n Notice) bool {
		if n.Event == "" || !errors.Is(n.Err, fs.ErrPermission) {
			return true
		}
		first = cmp.Or(first, n.Err)
		return false
	})
	return first
}

// list returns the events that exist and are selected, sorted by name.
func (r *Reader) list() ([]*tracefs.Event, error) {
	events, err := r.listOthers()
	if err != nil || !r.selected.Load().userEvents() {
		return events, err
	}
	status, err := r.dir.Status()
	if err != nil {
		return nil, err
	}
	for _, named := range status.Events {
		e := r.dir.Event(tracepoint.System + ":" + named.Name)
		if ok, err := e.Exists(); err == nil && !ok {
			e = r.dir.Event(tracepoint.MultiSystem + ":" + named.Name)
		}
		if ok, err := r.lists(e); err != nil && !errors.Is(err, fs.ErrNotExist) { // its program has just exited
			return nil, err
		} else if ok {
			events = append(events, e)
		}
	}
	slices.SortFunc(events, func(a, b *tracefs.Event) int { return cmp.Compare(a.String(), b.String()) })
	return events, nil
}

// listOthers returns the events of other systems than user events that exist and are selected.
func (r *Reader) listOthers() (events []*tracefs.Event, err error) {
	have := map[string]bool{}
	for _, p := range r.selected.Load().patterns() {
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
			e := r.dir.Event(p.system + ":" + name)
			if have[e.String()] {
				continue
			}
			have[e.String()] = true
			if ok, err := r.lists(e); err != nil {
				return nil, err
			} else if ok {
				events = append(events, e)
			}
		}
	}
	return events, nil
}

// lists reports whether records of an event can be selected.
func (r *Reader) lists(e *tracefs.Event) (bool, error) {
	if !r.selected.Load().names(e.System(), e.Name()) {
		return false, nil
	}
	plan, err := r.plan(e)
	if err == nil && plan.Never {
		r.noteNever(e.String())
	}
	return err == nil && !plan.Never, err
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

// plan returns where the conditions are evaluated for an event that was selected by its name.
func (r *Reader) plan(e *tracefs.Event) (where.Plan, error) {
	s := *r.selected.Load()
	if !s.conditional() && isUserEvents(e.System()) {
		return where.Plan{}, nil
	}
	f, err := e.Format()
	if err != nil || !s.conditional() {
		return where.Plan{}, err
	}
	d, err := record.NewDecoder(e.System(), f)
	if err != nil {
		return where.Plan{}, fmt.Errorf("decoding event %s: %w", e, err)
	}
	plan := r.choose(s, e.System(), e.Name(), d).plan
	if r.o.Read == ReadCounts && len(plan.Reader) > 0 {
		err = fmt.Errorf("the kernel does not evaluate %s, and counts no records of %s: %w", strings.Join(plan.Reader, " nor "), e, fs.ErrInvalid)
	}
	return plan, err
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
	if !r.selected.Load().names(e.System(), e.Name()) {
		return nil
	}
	if r.isLeftOut(e.String()) {
		return &perf.AttachOptions{Later: true}
	}
	// If the kernel is removing the event, attaching fails, and the session looks at the event again.
	plan, err := r.plan(e)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.notices.add(Notice{Kind: NoticeFailed, Event: e.String(), Err: err})
		return nil
	} else if plan.Never {
		r.noteNever(e.String())
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gonePaused(e.String())
	if r.attached[e.String()] != nil || r.leaving[e.String()] && !isUserEvents(e.System()) { // release looks again
		return nil
	}
	if !r.hasRoom() {
		return r.leaveOut(e.String())
	}
	added := &event{name: e.String(), tracepoint: e, filter: plan.Kernel, writers: map[int32]bool{}}
	r.attached[added.name] = added
	r.events[added] = true
	return r.attachOptions(added, plan.Kernel)
}

// report records the result of attaching to an event that match selected.
func (r *Reader) report(of *tracefs.Event, src attached, err error) {
	r.mu.Lock()
	e := r.attached[of.String()]
	r.mu.Unlock()
	if err == nil {
		if _, err = r.readingOf(e); err != nil {
			err = errors.Join(err, src.Detach())
		}
	}
	if r.reported(e, src, err) {
		r.update(e) // the selection may have changed meanwhile
	}
}

// reported notes that an event is attached, or why it is not, and reports whether it is.
func (r *Reader) reported(e *event, src attached, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	leftOut := r.leftOutFor(e.name)
	if err != nil {
		delete(r.attached, e.name)
		delete(r.events, e)
		exited := errors.Is(err, fs.ErrNotExist) && isUserEvents(e.tracepoint.System())
		if !exited && !errors.Is(err, os.ErrClosed) { // else the caller has stopped
			r.notices.add(Notice{Kind: NoticeFailed, Event: e.name, Err: err})
		}
		return false
	}
	if e.first = src; r.opened { // Open reports no existing events
		r.notices.add(Notice{Kind: NoticeAttached, Event: e.name, Gap: max(src.Gap(), leftOut)})
	}
	return true
}
