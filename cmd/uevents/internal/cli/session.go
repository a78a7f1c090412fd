package cli

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"time"

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
)

// session reads the records of a source for a verb, from opening it to the last record.
type session struct {
	e      *env
	source source
	notes  notes
	names  missingNames
	began  time.Time

	handle   func(*record.Record) error // called for each record
	tick     func() error               // called after every, and with eager when no record is ready; nil for none
	every    time.Duration              // 0 means a second
	eager    bool
	stopping func()       // called before the source is stopped; nil for none
	close    func() error // called after the last record; nil for none
	// goesOn returns the line for a COMMAND that goes on after an error or the end of the records, "" for none.
	goesOn func(err error) string

	timer *sys.KillTimer // nil without a time
	ended bool
	stats reader.Stats // when the session ended
	err   error        // of these
}

// errEnough is returned by functions of a session that need no further record. The source stops, and the session handles the records that
// it still has.
var errEnough = errors.New("no further records are needed")

// newSession returns a session of what the flags select.
func (e *env) newSession(f *selection, o *reader.Options) session {
	return session{
		e: e, notes: notes{w: e.err, buffer: o.BufferSize, limit: o.Limit, release: f.release},
		names: missingNames{e: e, where: o.Where, flags: &f.conditionFlags},
	}
}

// open attaches to the events, at most for a time; 0 means any time. It returns the counts at the start.
func (s *session) open(o *reader.Options, f *tailFlags, d time.Duration) (st reader.Stats, err error) {
	s.began = s.e.now()
	s.expire(d)
	if s.source, err = s.e.open(o); err == nil {
		s.source, err = f.buffered(s.source)
	}
	if err != nil {
		return st, errors.Join(hintForOpen(err), s.end())
	}
	s.names.tail = bufferOf(s.source)
	if f.o != nil && o.Limit > 0 {
		s.e.say("! --limit comes before --when: of a request, records can be missing")
	}
	if st, err = s.source.Stats(); err != nil {
		return st, errors.Join(err, s.end())
	}
	return st, nil
}

// until handles records until ctx is done, the source ends, or the COMMAND, if there is one, has ended. It handles the rest, and waits for
// the COMMAND, whose error comes after another one.
func (s *session) until(ctx context.Context, command []string) error {
	var running *child
	var err error
	if len(command) > 0 {
		if running, err = s.e.startChild(ctx, command, s.source.AttachProcess); err != nil {
			return errors.Join(err, s.closed())
		}
		ctx = running.recording
	}
	stopped := make(chan error, 1)
	end := context.AfterFunc(ctx, func() {
		if s.stopping != nil {
			s.stopping()
		}
		stopped <- s.source.Stop()
	})
	if err = s.read(); errors.Is(err, io.EOF) {
		err = nil
	}
	if !end() {
		err = errors.Join(err, <-stopped)
	}
	if err = errors.Join(err, s.closed()); running == nil {
		return err
	}
	if running.runs() {
		if line := s.goesOn(err); line != "" {
			s.e.say("%s", line)
		}
	}
	err = errors.Join(err, s.end()) // a COMMAND that goes on does not pay any more
	if ended := running.wait(); err == nil {
		err = ended
	}
	return err
}

func (s *session) closed() error {
	if s.close == nil {
		return nil
	}
	return s.close()
}

// read handles records until there are no more, and returns io.EOF then. It calls tick when records are always ready, too.
func (s *session) read() error {
	if s.every == 0 {
		s.every = time.Second
	}
	next, waits := s.schedule(), true
	poll := func() {
		waits = false
		s.source.SetDeadline(time.Unix(0, 0)) // Next does not wait
	}
	if s.eager {
		poll()
	}
	var ev record.Record
	for n := 1; ; n++ {
		err := s.source.Next(&ev)
		none := err != nil && errors.Is(err, os.ErrDeadlineExceeded)
		switch {
		case err == nil:
			if waits && s.eager {
				poll()
			}
			if err := s.handle(&ev); err != nil {
				if err := s.done(err); err != nil {
					return err
				}
			}
		case !none:
			return err
		}
		if none || n%256 == 0 && !s.e.now().Before(next) {
			if s.tick != nil {
				if err := s.done(s.tick()); err != nil {
					return err
				}
			}
			if next, waits = s.schedule(), true; s.eager && !none {
				poll()
			}
		}
	}
}

// schedule sets the deadline of the next tick, and returns it.
func (s *session) schedule() time.Time {
	s.source.SetDeadline(time.Now().Add(s.every))
	return s.e.now().Add(s.every)
}

// done stops the source if a function of the session wants no further record. Any other error ends the session.
func (s *session) done(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errEnough):
		return s.source.Stop()
	}
	return errors.Join(err, s.source.Stop())
}

// say writes the notes on events and on the names of the condition.
func (s *session) say() {
	for _, line := range s.names.tick(s.e.now()) {
		s.notes.add("%s", text.Printable(line))
	}
	s.notes.flush()
}

// expiryGrace is how long a command may take to end in good order after its --duration: detaching from 200 events of the kernel takes
// it 7 s, and then it writes what it has read.
var expiryGrace = 30 * time.Second

// expire makes the kernel end this process some time after --duration at the latest, also if it is stopped, waits for its output, or has a
// bug: events are enabled, and programs pay for them, until then. With the process go its descriptors, and so the sessions of both
// transports. Only Linux has such timers; elsewhere a command that hangs has no end. A COMMAND that it started goes on. 0 means never.
func (s *session) expire(d time.Duration) {
	if d <= 0 {
		return
	}
	var err error
	if s.timer, err = sys.NewKillTimer(min(d, math.MaxInt64-expiryGrace) + expiryGrace); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		s.e.say("! if uevents hangs, it does not end after %s: %v", d, err)
	}
}

// counts returns the counts of the session, at its end if it has ended.
func (s *session) counts() (reader.Stats, error) {
	if s.ended {
		return s.stats, s.err
	}
	return s.source.Stats()
}

// end detaches from the events, before a COMMAND has ended that goes on. It may be called more than once.
func (s *session) end() (err error) {
	if s.source != nil {
		if !s.ended {
			s.stats, s.err = s.source.Stats() // records that are not read do not count as lost
		}
		err = s.source.Close()
		s.ended = true
	}
	if s.timer != nil {
		err = errors.Join(err, s.timer.Stop())
		s.timer = nil
	}
	return err
}
