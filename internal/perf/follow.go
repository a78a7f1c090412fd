package perf

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/userevents/userevents-go/internal/tracefs"
	"github.com/userevents/userevents-go/tracepoint"
)

// follower attaches to user events as they appear.
type follower struct {
	match  func(*tracefs.Event) *AttachOptions
	report func(*tracefs.Event, *Source, error)
	known  map[string]*followed // by name; those that were listed at the last poll
	polled time.Time            // when that began
	status []byte               // user_events_status at that time; nil if all of it is to be checked again
	asked  uint64               // calls of AskAgain that were noticed
}

// followed is a user event that a follower knows.
type followed struct {
	event  *tracefs.Event
	source *Source   // nil if it was not attached
	since  time.Time // when the event was missing, or its source detached; zero if it was there before Follow
	polls  int       // since the source was detached
}

// releasePolls is the poll after Detach at which an event is looked at again. The kernel removes an event that no program
// has a moment after it is detached, and another descriptor would keep it from that.
const releasePolls = 3

// Follow attaches to all user events that match: the existing ones and, until the session is closed, those that appear.
// It reads user_events_status every Options.Poll, since tracefs does not report changes. Records written between the
// registration of an event and the next poll are missed. To miss none, create the event in advance with
// [tracefs.Dir.Create], and call Attach.
//
// match returns the options for attaching to an event, or nil to skip it. Follow calls it once for each event, again for
// an event that reappears after it was missing in one poll, and again for an event that was detached and is there at the
// third poll after that: other programs have it, or a new one registered it. [Session.AskAgain] makes it call match again. report gets the Source, or the error of
// Attach. Both run first in the goroutine of Follow, and later in one of the session; they may call methods
// of the session.
//
// The error is that of the first poll.
func (s *Session) Follow(match func(*tracefs.Event) *AttachOptions, report func(*tracefs.Event, *Source, error)) error {
	f := &follower{match: match, report: report}
	if err := s.poll(f); err != nil {
		return fmt.Errorf("following user events: %w", err)
	}
	s.attach.Lock()
	defer s.attach.Unlock()
	s.followers = append(slices.Clip(s.followers), f)
	return nil
}

// follow attaches to new events. It runs in one goroutine only.
func (s *Session) follow() {
	s.attach.Lock()
	followers := s.followers
	if s.stopped {
		followers = nil
	}
	s.attach.Unlock()
	for _, f := range followers {
		_ = s.poll(f) // an error, for example while tracefs is being unmounted, may be gone at the next poll
	}
}

// poll attaches to the events that are new since the last poll.
func (s *Session) poll(f *follower) error {
	if s.isClosed() {
		return errClosed
	}
	now, before := time.Now(), f.polled
	text, err := os.ReadFile(s.dir.Path(tracefs.StatusFile))
	if err != nil {
		return fmt.Errorf("reading the state of user events: %w", err)
	}
	f.polled = now
	s.forgetUnattached(f)
	if !s.released(f) && f.status != nil && bytes.Equal(text, f.status) {
		return nil // as is most often so
	}
	status, err := tracefs.ParseStatus(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("reading the state of user events: %w", err)
	}
	f.status = text
	known, added := make(map[string]*followed, len(status.Events)), []*followed(nil)
	for _, e := range status.Events {
		k := f.known[e.Name]
		if k == nil || k.polls >= releasePolls {
			since := before
			if k != nil {
				since = k.since
			}
			if k = s.find(e.Name, since); k == nil {
				f.status = nil // the kernel is removing it, and a program may register it again before the next poll
				continue
			}
			added = append(added, k)
		}
		known[e.Name] = k
	}
	f.known = known
	s.attachTo(f, added)
	return nil
}

// released reports whether an event that was detached is to be looked at again.
func (s *Session) released(f *follower) (due bool) {
	s.attach.Lock()
	defer s.attach.Unlock()
	for _, k := range f.known {
		if k.source != nil && k.source.released {
			k.since = k.source.detached
			k.polls++
			due = due || k.polls >= releasePolls
		}
	}
	return due
}

// find returns the event of a name in user_events_status, which does not say of which system it is, or nil if there is
// none: a name may also be a part of one with newlines.
func (s *Session) find(name string, since time.Time) *followed {
	for _, system := range []string{tracepoint.System, tracepoint.MultiSystem} {
		e := s.dir.Event(system + ":" + name)
		if ok, err := e.Exists(); ok || err != nil { // Attach returns the error
			return &followed{event: e, since: since}
		}
	}
	return nil
}

// AskAgain makes the next poll of each Follow call match again for the events that are not attached, because match skipped them or they
// were detached: what match selects has changed.
func (s *Session) AskAgain() { s.again.Add(1) }

// forgetUnattached forgets the events that are not attached, if AskAgain was called since the last time.
func (s *Session) forgetUnattached(f *follower) {
	asked := s.again.Load()
	if asked == f.asked {
		return
	}
	f.asked, f.status = asked, nil
	s.attach.Lock()
	defer s.attach.Unlock()
	maps.DeleteFunc(f.known, func(_ string, k *followed) bool { return k.source == nil || k.source.released })
}

// askAgain makes the next poll look at an event as if it were new.
func (f *follower) askAgain(e *tracefs.Event) {
	delete(f.known, e.Name())
	f.status = nil
}

func (s *Session) attachTo(f *follower, added []*followed) {
	for _, k := range added {
		o := f.match(k.event)
		if o == nil {
			continue
		}
		if o.Later {
			f.askAgain(k.event)
			continue
		}
		src, err := s.Attach(k.event.String(), o)
		switch {
		case errors.Is(err, errClosed), errors.Is(err, errStopped):
			return
		case errors.Is(err, fs.ErrNotExist): // as in poll
			f.askAgain(k.event)
		case err == nil && !k.since.IsZero():
			s.mu.Lock()
			src.gap = time.Since(k.since)
			s.mu.Unlock()
		}
		k.source = src
		f.report(k.event, src, err)
	}
}
