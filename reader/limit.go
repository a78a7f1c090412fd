package reader

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/uevents/perf"
)

// limitState says what Options.Limit does to an event of the kernel. Programs keep to the limit of events in shared memory themselves.
type limitState uint8

const (
	unlimited limitState = iota // attached
	pausing                     // being detached until the next second
	paused
	resuming // being attached again
)

// checkLimit checks Options.Limit.
func (o *Options) checkLimit() error {
	switch {
	case o.Limit < 0 || int64(o.Limit) > math.MaxUint32:
		return fmt.Errorf("the option Limit is %d, and must be from 0 to %d: %w", o.Limit, uint32(math.MaxUint32), errno.EINVAL)
	case o.Limit > 0 && o.Read != ReadStream:
		return fmt.Errorf("the option Limit needs ReadStream: %w", errno.EINVAL)
	}
	return nil
}

// limit counts a record of the kernel, and detaches from its event for the rest of the second if there are too many. Those that were
// written until then are read, too: they are there, and programs have paid for them.
func (r *Reader) limit(s *source, rec *perf.Record) {
	if s.task != nil || !isUserEvents(s.event.System()) {
		return
	}
	if second := rec.Monotonic / uint64(time.Second); second > s.second { // others come late
		s.second, s.records = second, 0
	}
	if s.records++; s.records <= r.o.Limit {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.limited != unlimited || s.gone || r.closed {
		return
	}
	s.limited = pausing
	if r.resumeAt.IsZero() {
		r.resumeAt = time.Now().Add(untilSecond(rec))
		r.setDeadline()
	}
	src := rec.Source // Next reads another record meanwhile
	r.background.Go(func() { r.pause(src, s) })
}

// untilSecond returns how long it takes until CLOCK_MONOTONIC, of which a record has the time, begins a second.
func untilSecond(rec *perf.Record) time.Duration {
	now := time.Duration(rec.Monotonic) + time.Since(rec.Time)
	return min(time.Second-now%time.Second, time.Second) // the clock may have been set
}

// pause detaches from an event, which takes the kernel about 30 ms. Next reads on meanwhile.
func (r *Reader) pause(src *perf.Source, s *source) {
	err := r.session.pause(src)
	r.mu.Lock()
	defer r.mu.Unlock()
	s.limited = paused
	if err != nil {
		r.notifyLocked(Notice{Kind: NoticeFailed, Event: s.name, Err: err})
	}
}

// resume attaches again to the events whose second is over.
func (r *Reader) resume(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.resumeAt.IsZero() || now.Before(r.resumeAt) || r.closed {
		return
	}
	r.resumeAt = time.Time{}
	due := map[*perf.Source]*source{}
	for src, s := range r.sources {
		switch s.limited {
		case paused:
			s.limited = resuming
			due[src] = s
		case pausing: // since a moment ago, or the kernel takes long
			r.resumeAt = now.Add(10 * time.Millisecond)
		}
	}
	r.setDeadline()
	if len(due) == 0 {
		return
	}
	r.background.Go(func() {
		for src, s := range due {
			r.resumed(src, s, r.session.resume(src))
		}
	})
}

// resumed notes that an event is attached again, or else that it is not: its programs may have ended.
func (r *Reader) resumed(src *perf.Source, s *source, err error) {
	if err != nil {
		err = errors.Join(err, r.session.detach(src))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.limited = unlimited
	if err == nil || s.gone {
		return
	}
	s.gone = true
	delete(r.attachedAs(s), s.name) // the session may attach to it again
	switch {
	case errors.Is(err, os.ErrClosed):
	case errors.Is(err, fs.ErrNotExist):
		r.notifyLocked(Notice{Kind: NoticeDetached, Event: s.name})
	default:
		r.notifyLocked(Notice{Kind: NoticeFailed, Event: s.name, Err: err})
	}
}

// gonePaused forgets an event that appears while it is paused: so it was gone meanwhile. The caller holds mu.
func (r *Reader) gonePaused(name string) {
	for src, s := range r.sources {
		if s.name == name && s.limited != unlimited && !s.gone {
			s.gone = true
			delete(r.attachedAs(s), name)
			r.background.Go(func() { _ = r.session.detach(src) }) // it has no descriptors
		}
	}
}
