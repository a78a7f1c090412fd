package cli

import (
	"errors"
	"math"
	"time"

	"github.com/userevents/userevents-go/internal/sys"
	"github.com/userevents/userevents-go/reader"
)

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
