package perf

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents/tracefs"
)

// follower attaches to user events as they appear.
type follower struct {
	match  func(*tracefs.Event) *AttachOptions
	report func(*tracefs.Event, *Source, error)
	have   map[string]bool // names at the last check
	looked time.Time       // when the last check began
	status []byte          // user_events_status at the last check; nil if all of it is to be checked again
}

// Follow attaches to all user events that match: the existing ones and, until the session is closed, those that appear.
// It reads user_events_status every Options.Poll, since tracefs does not report changes. Records written between the
// registration of an event and the next poll are missed. To miss none, create the event in advance with
// [tracefs.Dir.Create], and call Attach.
//
// match returns the options for attaching to an event, or nil to skip it. Follow calls it once for each event, and
// again for an event that reappears after it was missing in one poll or was attached before. report gets the Source, or
// the error of Attach; it may be nil. Both run first in the goroutine of Follow, and later in one of the session; they
// may call methods of the session.
//
// The error is that of the first poll.
func (s *Session) Follow(match func(*tracefs.Event) *AttachOptions, report func(*tracefs.Event, *Source, error)) error {
	if match == nil {
		return fmt.Errorf("following user events: no function that matches: %w", errno.EINVAL)
	}
	if report == nil {
		report = func(*tracefs.Event, *Source, error) {}
	}
	f := &follower{match: match, report: report}
	events, since, err := s.appeared(f)
	if err != nil {
		return fmt.Errorf("following user events: %w", err)
	}
	s.attachTo(f, events, since)
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
		// An error, for example while tracefs is being unmounted, may be gone at the next poll.
		if events, since, err := s.appeared(f); err == nil {
			s.attachTo(f, events, since)
		}
	}
}

// appeared returns the events that are new since the last poll, and the time of that, which is zero in the first.
func (s *Session) appeared(f *follower) (_ []*tracefs.Event, since time.Time, err error) {
	if s.isClosed() {
		return nil, since, errClosed
	}
	now := time.Now()
	text, err := os.ReadFile(s.dir.Path(tracefs.StatusFile))
	if err != nil {
		return nil, since, fmt.Errorf("reading the state of user events: %w", err)
	}
	if f.status != nil && bytes.Equal(text, f.status) { // as is most often so
		since, f.looked = f.looked, now
		return nil, since, nil
	}
	status, err := tracefs.ParseStatus(bytes.NewReader(text))
	if err != nil {
		return nil, since, fmt.Errorf("reading the state of user events: %w", err)
	}
	since, f.looked, f.status = f.looked, now, text
	var events []*tracefs.Event
	have := make(map[string]bool, len(status.Events))
	for _, e := range status.Events {
		have[e.Name] = true
		if f.have[e.Name] {
			continue
		}
		event := s.dir.Event(tracepoint.System + ":" + e.Name)
		if ok, err := event.Exists(); err == nil && !ok { // one of several formats, which belongs to another system
			event = s.dir.Event(tracepoint.MultiSystem + ":" + e.Name)
		}
		events = append(events, event)
	}
	f.have = have
	return events, since, nil
}

func (s *Session) attachTo(f *follower, events []*tracefs.Event, since time.Time) {
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
			// The kernel was removing it: a program may register the name again before the next poll.
			delete(f.have, event.Name())
			f.status = nil
		}
		if err == nil && !since.IsZero() {
			s.mu.Lock()
			src.gap = time.Since(since)
			s.mu.Unlock()
		}
		f.report(event, src, err)
	}
}
