package perf

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// follower attaches to user events as they appear.
type follower struct {
	match  func(*tracefs.Event) *AttachOptions
	report func(*tracefs.Event, *Source, error)
	have   map[string]bool // names at the last look
}

// Follow attaches to all user events that match, those that exist and, until the session is closed, those that
// appear: it reads user_events_status every Options.Poll, since tracefs reports no changes. Records that a program
// writes between its registration and the next read are not recorded; Attach to an event that was created in
// advance, with [tracefs.Dir.Create], misses nothing.
//
// match returns how to attach to an event, or nil to leave it. It is called once for each event, and again when
// the event was missing at one look, or when it was attached to, and is there at a later one. report gets the
// Source, or the error of Attach. Both run in the goroutine of Follow first, and then in one of the session; they
// may call methods of the session. report may be nil if errors do not matter.
//
// The error is that of the first look at the list of events.
func (s *Session) Follow(match func(*tracefs.Event) *AttachOptions, report func(*tracefs.Event, *Source, error)) error {
	if match == nil {
		return fmt.Errorf("following user events: no function that matches: %w", errno.EINVAL)
	}
	if report == nil {
		report = func(*tracefs.Event, *Source, error) {}
	}
	f := &follower{match: match, report: report}
	events, err := s.appeared(f)
	if err != nil {
		return fmt.Errorf("following user events: %w", err)
	}
	s.attachTo(f, events)
	s.attach.Lock()
	defer s.attach.Unlock()
	s.followers = append(slices.Clip(s.followers), f)
	return nil
}

// follow looks for new events. One goroutine does.
func (s *Session) follow() {
	s.attach.Lock()
	followers := s.followers
	if s.stopped {
		followers = nil
	}
	s.attach.Unlock()
	for _, f := range followers {
		// An error now, with tracefs being unmounted for example, may be over at the next look.
		if events, err := s.appeared(f); err == nil {
			s.attachTo(f, events)
		}
	}
}

// appeared returns the events that were not there at the last look.
func (s *Session) appeared(f *follower) ([]*tracefs.Event, error) {
	if s.isClosed() {
		return nil, errClosed
	}
	status, err := s.dir.Status()
	if err != nil {
		return nil, err
	}
	var events []*tracefs.Event
	now := make(map[string]bool, len(status.Events))
	for _, e := range status.Events {
		now[e.Name] = true
		if f.have[e.Name] {
			continue
		}
		event := s.dir.Event(tracepoint.System + ":" + e.Name)
		if ok, err := event.Exists(); err == nil && !ok { // one of several formats: its system is another
			event = s.dir.Event(tracepoint.MultiSystem + ":" + e.Name)
		}
		events = append(events, event)
	}
	f.have = now
	return events, nil
}

func (s *Session) attachTo(f *follower, events []*tracefs.Event) {
	for _, event := range events {
		o := f.match(event)
		if o == nil {
			continue
		}
		src, err := s.Attach(event.String(), o)
		if errors.Is(err, errClosed) || errors.Is(err, errStopped) {
			return
		}
		if errors.Is(err, fs.ErrNotExist) {
			delete(f.have, event.Name()) // the kernel was removing it: a program may register the name again before the next look
		}
		f.report(event, src, err)
	}
}
