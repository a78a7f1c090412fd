package reader

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/record/where"

	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/internal/tracefs"
)

// Addition selects records beside those that Options select: see [Reader.Add].
type Addition struct {
	// Events and Excludes are patterns of user events, as in Options. An addition also selects events that Options.Excludes has.
	Events, Excludes []string
	// Where selects records of these events; nil means all.
	Where *where.Condition
}

type addition struct {
	selection
	where *where.Condition
}

// added is what additions select of an event.
type added struct {
	role
	list []*where.Condition // one that is nil selects all records
}

type role uint8

const (
	optionsToo role = iota // the records that Options select
	alone                  // nothing: Options do not select the event
	elsewhere              // nothing: another source has the records that Options select
)

// Add replaces the additions, while the Reader runs: records are read that Options select or any addition. Those of Options go on meanwhile:
// none is lost or read twice. Events of additions are attached within Options.Poll, and detached again when no addition selects them any
// more; the records that were written before that are read. Options.Kinds, Processes, Cgroup and the limits hold for additions, too. A
// declared record and its copy in the event of its level count as two records, where additions select the copy.
//
// The kernel evaluates no conditions of additions. Stats and notices have one entry for an event of Options and one for its additions. While
// these select records of an event for which the kernel evaluates Options.Where, the records that it selects count twice for Options.ProgramLimit.
//
// An error leaves the additions as they were. It wraps [fs.ErrInvalid] if a pattern is wrong or not one of user events, or the Reader has
// Options.NoFollow or does not read with ReadStream; and [os.ErrClosed] after Close. It may be called concurrently.
func (r *Reader) Add(list []Addition) error {
	if r.o.NoFollow || r.o.Read != ReadStream {
		return fmt.Errorf("reader: additions need ReadStream and new events: %w", fs.ErrInvalid)
	}
	var additions []addition
	for _, a := range list {
		s, err := newSelection(a.Events, a.Excludes)
		if err == nil && slices.ContainsFunc(s.events, func(p pattern) bool { return !p.userEvents() }) {
			err = fmt.Errorf("additions are user events: %w", fs.ErrInvalid)
		}
		if err != nil {
			return fmt.Errorf("reader: %w", err)
		}
		additions = append(additions, addition{s, a.Where})
	}
	r.adds.Lock()
	defer r.adds.Unlock()
	if !r.follows && len(additions) > 0 && r.kernel != nil {
		if err := r.kernel.Follow(r.matchAdded, r.reportAdded); err != nil { // finds nothing: there is no addition yet
			return fmt.Errorf("reader: %w", err)
		}
		r.follows = true
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return fmt.Errorf("reader: %w", os.ErrClosed)
	}
	r.additions = additions
	sources := map[*perf.Source]*source{}
	for src, s := range r.sources {
		if s.task == nil && s.role != optionsToo && !s.gone {
			sources[src] = s
		}
	}
	r.mu.Unlock()
	for src, s := range sources {
		r.updateAdded(src, s)
	}
	r.session.askAgain()
	return nil
}

// updateAdded detaches from an event of the kernel that no addition selects any more.
func (r *Reader) updateAdded(src *perf.Source, s *source) {
	if a, _ := r.addedTo(s.event, s.decoder); a != nil {
		s.added.Store(a)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.gone || r.closed {
		return
	}
	s.gone = true
	delete(r.attachedAdded, s.name)
	r.background.Go(func() {
		err := r.kernel.detach(src)
		if s.role == alone || err != nil {
			r.notify(Notice{Kind: NoticeDetached, Event: s.name, Err: err})
		}
	})
}

// selected returns the additions that select an event by its name.
func (r *Reader) selected(system, name string) (list []*where.Condition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.additions {
		if a := &r.additions[i]; a.wants(system, name) {
			list = append(list, a.where)
		}
	}
	return list
}

// addedTo returns what additions select of an event of the kernel beside Options, or nil. The decoder may be missing.
func (r *Reader) addedTo(e *tracefs.Event, d *record.Decoder) (*added, error) {
	list := r.selected(e.System(), e.Name())
	known := r.selection.wants(e.System(), e.Name())
	if len(list) == 0 || known && r.o.Where == nil {
		return nil, nil
	}
	if d == nil {
		f, err := e.Format()
		if err != nil {
			return nil, err
		}
		if d, err = record.NewDecoder(e.System(), f); err != nil {
			return nil, fmt.Errorf("decoding event %s: %w", e, err)
		}
	}
	a := r.o.addedOf(d, list)
	if a != nil && known && !r.planFor(d).Never {
		a.role = elsewhere
	}
	return a, nil
}

// addedOf returns what conditions can select of a decoder's events, or nil.
func (o *Options) addedOf(d *record.Decoder, list []*where.Condition) *added {
	list = slices.DeleteFunc(list, func(c *where.Condition) bool { return c != nil && c.Plan(d, false).Never })
	if len(list) == 0 || !o.wantsKind(d) {
		return nil
	}
	return &added{role: alone, list: list}
}

func (r *Reader) matchAdded(e *tracefs.Event) *perf.AttachOptions {
	if r.isLeftOut(e.String()) {
		return &perf.AttachOptions{Later: true}
	}
	a, err := r.addedTo(e, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &perf.AttachOptions{Later: true}
	case err != nil:
		r.notify(Notice{Kind: NoticeFailed, Event: e.String(), Err: err})
		return nil
	case a == nil:
		return nil
	}
	return r.admit(e, false, perf.AttachOptions{Tag: a})
}

func (r *Reader) reportAdded(e *tracefs.Event, src *perf.Source, err error) {
	r.reported(e, src, err, r.attachedAdded)
	if err != nil {
		return
	}
	r.mu.Lock()
	s := r.sources[src]
	r.mu.Unlock()
	if s != nil {
		r.updateAdded(src, s) // additions may have changed meanwhile
	}
}

// wants reports whether a record is selected, by Options or by what additions select of its source, which may be nil; and whether it is
// the copy of another: one that is selected because of additions alone is not.
func (r *Reader) wants(s *source, ev *record.Record, a *added) (wanted, isCopy bool) {
	isCopy = r.copiesOf.IsCopy(ev)
	wanted = s.where == nil || s.where.Match(ev)
	if a == nil || wanted && a.role == optionsToo {
		return wanted, isCopy
	}
	matches := slices.ContainsFunc(a.list, func(c *where.Condition) bool { return c == nil || c.Match(ev) })
	if a.role == elsewhere {
		matches = matches && !wanted
	}
	return matches, isCopy && !matches
}

// attachedFor returns the names of the events that are attached for Options, or else for additions. The caller holds mu.
func (r *Reader) attachedFor(options bool) map[string]bool {
	if options {
		return r.attached
	}
	return r.attachedAdded
}

// attachedAs returns the names of the events that are attached as a source is. The caller holds mu.
func (r *Reader) attachedAs(s *source) map[string]bool { return r.attachedFor(s.role == optionsToo) }
