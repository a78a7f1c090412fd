package cli

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
)

// session is what commands have in common that read records until they end.
type session struct {
	expiry

	e     *env
	notes notes
	names missingNames
	began time.Time
}

// prepare checks whether the COMMAND and the transport are there. explained is that it has explained the condition instead.
func (e *env) prepare(s *selection, o *reader.Options, patterns, command []string) (explained bool, err error) {
	if s.explain {
		return true, e.explain(o)
	}
	if err := e.command(o, patterns, command); err != nil {
		return false, err
	}
	return false, e.selectTransport(o)
}

// open attaches to the events, at most for a time; 0 means any time.
func (s *session) open(o *reader.Options, f *tailFlags, d time.Duration) (err error) {
	s.began = s.e.now()
	s.expiry = s.e.expire(d)
	if s.live, err = f.open(s.e, o); err != nil {
		return errors.Join(hintForOpen(err), s.end())
	}
	s.names.tail = bufferOf(s.live)
	f.sayLimited(s.e, o)
	return nil
}

// start starts the COMMAND, if there is one, and returns it, and a context that is also done when it has ended.
func (s *session) start(ctx context.Context, command []string) (*child, context.Context, error) {
	if len(command) == 0 {
		return nil, ctx, nil
	}
	running, err := s.e.startChild(ctx, command, s.live.AttachProcess)
	if err != nil {
		return nil, ctx, err
	}
	return running, running.recording, nil
}

// wait detaches from the events, and waits for the COMMAND, whose error comes after another one.
func (s *session) wait(running *child, err error) error {
	err = errors.Join(err, s.end())
	if ended := running.wait(); err == nil {
		err = ended
	}
	return err
}

// say writes what there is to say about events and the names of the condition.
func (s *session) say() {
	for _, line := range s.names.tick(s.e.now()) {
		s.notes.add("%s", text.Printable(line))
	}
	s.notes.flush()
}

// expiryGrace is how long a command may take to end in good order after its --duration: detaching from 200 events of the kernel takes
// it 7 s, and then it writes what it has read.
var expiryGrace = 30 * time.Second

// expiry ends the session of a command: events are enabled, and programs pay for them, until then. At the latest, some time after
// --duration, the kernel ends this process, also one that is stopped, waits for its output, or has a bug. With the process go its
// descriptors, and so the sessions of both transports. Only Linux has such timers; elsewhere a command that hangs has no end. A
// COMMAND that it started goes on.
type expiry struct {
	live  live
	timer *sys.KillTimer // nil without a time
	ended bool
	stats reader.Stats // when the session ended
	err   error        // of these
}

// expire begins before a session: 0 means never.
func (e *env) expire(d time.Duration) (x expiry) {
	if d <= 0 {
		return x
	}
	var err error
	if x.timer, err = sys.NewKillTimer(min(d, math.MaxInt64-expiryGrace) + expiryGrace); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		e.say("! if uevents hangs, it does not end after %s: %v", d, err)
	}
	return x
}

// counts returns the counts of the session; those that it ended with if it has ended.
func (x *expiry) counts() (reader.Stats, error) {
	if x.ended {
		return x.stats, x.err
	}
	return x.live.Stats()
}

// end detaches from the events. Where a COMMAND goes on, that is before it has ended. end may be called more than once.
func (x *expiry) end() (err error) {
	if x.live != nil {
		if !x.ended {
			x.stats, x.err = x.live.Stats() // what is not read does not count as lost
		}
		err = x.live.Close()
		x.ended = true
	}
	if x.timer != nil {
		err = errors.Join(err, x.timer.Stop())
		x.timer = nil
	}
	return err
}
