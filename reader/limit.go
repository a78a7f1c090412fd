package reader

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/internal/live"
	"github.com/userevents/userevents-go/internal/perf"
	"github.com/userevents/userevents-go/tracepoint"
)

// limitState is the state of an event of the kernel under Options.Limit and Options.ProgramLimit.
type limitState uint8

const (
	unlimited limitState = iota // attached
	pausing                     // being detached until the next second
	paused
	resuming // being attached again
)

// usage is what was written in a second.
type usage struct {
	second         uint64 // of the newest record
	records, bytes int    // of that second
}

// add adds a record. It reports whether the record is the first one of its second.
func (u *usage) add(rec *live.Record) (first bool) {
	if second := rec.Monotonic / uint64(time.Second); second > u.second { // others come late
		*u, first = usage{second: second}, true
	}
	u.records++
	u.bytes += len(rec.Raw) - tracepoint.CommonSize
	return first
}

func (u *usage) exceeds(limit ProgramLimit, parts int) bool {
	return limit.Records > 0 && u.records*parts > limit.Records || limit.Bytes > 0 && u.bytes*parts > limit.Bytes
}

// limit counts a record, and disables its event for the rest of the second if there are too many. Those that were
// written until then are read, too: they are there, and programs have paid for them.
func (r *Reader) limit(e *event, rec *live.Record, writer *task) {
	if e.tracepoint != nil && !isUserEvents(e.tracepoint.System()) {
		return
	}
	first := e.used.add(rec)
	if writer.used.add(rec) {
		writer.events = 0
	}
	if first {
		writer.events++
	}
	// Programs in shared memory keep to Options.Limit themselves.
	over := r.o.Limit > 0 && e.pause == nil && e.used.records > r.o.Limit
	over = over || writer.used.exceeds(r.o.ProgramLimit, 1) && e.used.exceeds(r.o.ProgramLimit, max(writer.events, 1))
	if !over {
		return
	}
	if e.pause != nil {
		e.pause()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.limited != unlimited || e.gone || e.first == nil || r.closed {
		return
	}
	e.limited = pausing
	if r.resumeAt.IsZero() {
		r.resumeAt = time.Now().Add(untilSecond(rec))
		r.setDeadline()
	}
	r.background.Go(func() { r.pause(e) })
}

// untilSecond returns how long it takes until CLOCK_MONOTONIC, of which a record has the time, begins a second.
func untilSecond(rec *live.Record) time.Duration {
	now := time.Duration(rec.Monotonic) + time.Since(rec.Time)
	return min(time.Second-now%time.Second, time.Second) // the clock may have been set
}

// pause detaches from an event, which takes the kernel about 30 ms. Next reads on meanwhile.
func (r *Reader) pause(e *event) {
	err := r.each(e, attached.Pause)
	r.mu.Lock()
	defer r.mu.Unlock()
	e.limited = paused
	if err != nil {
		r.notices.add(Notice{Kind: NoticeFailed, Event: e.name, Err: err})
	}
}

// each calls f with what is attached to an event, while divide waits.
func (r *Reader) each(e *event, f func(attached) error) error {
	e.dividing.Lock()
	defer e.dividing.Unlock()
	return e.all(f)
}

// resume attaches again to the events whose second is over.
func (r *Reader) resume(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.resumeAt.IsZero() || now.Before(r.resumeAt) || r.closed {
		return
	}
	r.resumeAt = time.Time{}
	var due []*event
	for e := range r.events {
		switch e.limited {
		case paused:
			e.limited = resuming
			due = append(due, e)
		case pausing: // since a moment ago, or the kernel takes long
			r.resumeAt = now.Add(10 * time.Millisecond)
		}
	}
	r.setDeadline()
	if len(due) == 0 {
		return
	}
	r.background.Go(func() {
		for _, e := range due {
			r.resumed(e, r.each(e, attached.Resume))
		}
	})
}

// resumed notes that an event is attached again, or else that it is not: its programs may have ended.
func (r *Reader) resumed(e *event, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e.limited = unlimited
	if err == nil {
		r.divideSoon(e)
		return
	}
	if e.gone {
		return
	}
	e.gone = true
	delete(r.attached, e.name) // the session may attach to it again
	r.background.Go(func() { _ = r.detach(e) })
	switch {
	case errors.Is(err, os.ErrClosed):
	case errors.Is(err, fs.ErrNotExist):
		r.notices.add(Notice{Kind: NoticeDetached, Event: e.name})
	default:
		r.notices.add(Notice{Kind: NoticeFailed, Event: e.name, Err: err})
	}
}

// gonePaused forgets an event that appears while it is paused: so it was gone meanwhile. The caller holds mu.
func (r *Reader) gonePaused(name string) {
	if e := r.attached[name]; e != nil && e.limited != unlimited && !r.closed {
		e.gone = true
		delete(r.attached, name)
		r.background.Go(func() { _ = r.detach(e) }) // it has no descriptors
	}
}

// ErrTooManyEvents reports events beyond Options.MaxEvents. Errors of [Open] and of notices wrap it.
var ErrTooManyEvents = errors.New("too many events")

// tooMany is the notice of an event beyond the limit. The text also holds for several names.
func tooMany(limit int, of, event string) Notice {
	return Notice{
		Kind: NoticeFailed, Event: event, Err: fmt.Errorf("%w: %d %sare attached already, without %s", ErrTooManyEvents, limit, of, event),
	}
}

// spareDescriptors is the part of the descriptors that Options.Partial leaves to others.
const spareDescriptors = 8

// checkLimits returns an error if so many events cannot be attached, or with Options.Partial if none can. It is called before the first one is.
func (r *Reader) checkLimits(events int) error {
	r.most = r.o.MaxEvents
	if r.most > 0 && events > r.most && !r.o.Partial {
		return fmt.Errorf("%d events match, and at most %d are allowed: %w", events, r.most, ErrTooManyEvents)
	}
	st, err := r.source.Stats()
	if err != nil {
		return err
	}
	rings := 0
	if r.o.Read != ReadCounts && st.Rings == 0 {
		rings = st.CPUs
	}
	need := events*st.CPUs + rings
	if fits := (st.Descriptors - st.Descriptors/spareDescriptors - rings) / st.CPUs; r.o.Partial && fits > 0 {
		if r.most == 0 || fits < r.most {
			r.most, r.fewDescriptors = fits, true
		}
		need = min(events, r.most)*st.CPUs + rings
	}
	r.errorRings = need+st.CPUs <= st.Descriptors && r.o.Read == ReadStream
	if need > st.Descriptors {
		return fmt.Errorf("%d events on %d CPUs need %d descriptors, and %d are left; select fewer events or raise RLIMIT_NOFILE (ulimit -n): %w",
			events, st.CPUs, need, st.Descriptors, errno.EMFILE)
	}
	return nil
}

// leftOut says since when there is no room for an event, and when it was last there to ask for it.
type leftOut struct{ since, asked time.Time }

// forgetLeftOut is after how long without the event its name may be forgotten.
const forgetLeftOut = time.Minute

// hasRoom reports whether another event of the kernel may be attached. The caller holds mu.
func (r *Reader) hasRoom() bool { return r.most == 0 || len(r.attached)+r.rests < r.most }

// leaveOut notes that there is no room for an event, and returns what match returns then. With Options.Partial it is looked at again. The
// caller holds mu.
func (r *Reader) leaveOut(event string) *perf.AttachOptions {
	n := tooMany(r.most, "", event)
	if r.fewDescriptors {
		n.Err = fmt.Errorf("%w; raise RLIMIT_NOFILE (ulimit -n): %w", n.Err, errno.EMFILE)
	}
	r.notices.add(n)
	now := time.Now()
	if len(r.leftOut) >= maxKinds { // programs make up names
		maps.DeleteFunc(r.leftOut, func(_ string, l leftOut) bool { return now.Sub(l.asked) > forgetLeftOut })
	}
	if !r.o.Partial || len(r.leftOut) >= maxKinds {
		return nil
	}
	if r.leftOut == nil {
		r.leftOut = map[string]leftOut{}
	}
	r.leftOut[event] = leftOut{now, now}
	return &perf.AttachOptions{Later: true}
}

// isLeftOut reports whether there was no room for an event, and still is none.
func (r *Reader) isLeftOut(event string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l, ok := r.leftOut[event]
	if !ok || r.hasRoom() {
		return false
	}
	l.asked = time.Now()
	r.leftOut[event] = l
	return true
}

// leftOutFor returns for how long there was no room for an event. The caller holds mu.
func (r *Reader) leftOutFor(event string) time.Duration {
	l, ok := r.leftOut[event]
	if !ok {
		return 0
	}
	delete(r.leftOut, event)
	return time.Since(l.since)
}
