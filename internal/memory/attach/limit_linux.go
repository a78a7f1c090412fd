package attach

import (
	"time"

	"github.com/userevents/userevents-go/internal/sys"
)

// limited is what Options.Limit did to an event. Times are those of CLOCK_MONOTONIC in nanoseconds.
type limited struct {
	enabled uint64        // a time at which the event was enabled; 0 without a limit
	since   uint64        // when it was disabled, at the earliest; 0 while it is enabled
	times   uint64        // that it was disabled
	total   time.Duration // of those that are over
}

// Limited returns how often the limit has disabled the event, and for how long at most. Records of that time are in no count.
func (s *Source) Limited() (times uint64, d time.Duration) {
	if d = s.limited.total; s.limited.since > 0 {
		d += time.Duration(Now() - min(s.limited.since, Now()))
	}
	return s.limited.times, d
}

// begin begins with an event that is about to be enabled. One that the program has registered since the tool looked last was enabled by
// the program: it has reached the limit if it is not.
func (l *limited) begin(enabled bool, looked uint64) {
	l.enabled = Now()
	if !enabled && looked > 0 {
		l.times++
		l.total = time.Duration(l.enabled - min(looked, l.enabled))
	}
}

// end ends the time in which the event is disabled.
func (l *limited) end(now uint64) {
	if l.since > 0 {
		l.total += time.Duration(now - min(l.since, now))
		l.since = 0
	}
}

// Pause disables the event until the next second, as if it had reached Options.Limit.
func (s *Source) Pause() {
	ses := s.session
	ses.p.guard(func() {
		request := &ses.p.control.Requests[s.ID]
		if ses.p.control.Claimed.Load()&(1<<ses.i) == 0 || request.Load()&(1<<ses.i) == 0 {
			return // it is disabled
		}
		request.And(^uint32(1 << ses.i))
		ses.paused = true
		s.limited.since = Now()
		s.limited.times++
		ses.p.refresh([]uint32{s.ID})
	})
}

// nextSecond returns the time to the next second, in which the limit allows records again.
func nextSecond(now uint64) time.Duration {
	return time.Second - time.Duration(now%uint64(time.Second))
}

// keepLimit looks which events the limit has disabled, and enables those whose second is over. It reports whether it left any. now is not
// after the time at which the records were collected.
func (s *Session) keepLimit(now uint64) (left bool) {
	if s.o.Limit == 0 && !s.paused || s.p.control.Claimed.Load()&(1<<s.i) == 0 { // Renew enables what the expiry has disabled
		return false
	}
	s.limitKept = now
	var due []uint32
	for _, id := range s.wanted {
		l, request := &s.sources[id].limited, &s.p.control.Requests[id]
		if request.Load()&(1<<s.i) != 0 {
			l.end(now) // by Renew
			l.enabled = max(l.enabled, now)
			continue
		}
		if l.since == 0 {
			l.since = min(l.enabled, now)
			l.times++
		}
		if now/uint64(time.Second) > l.since/uint64(time.Second) {
			request.Or(1 << s.i)
			due = append(due, id)
		} else {
			left = true
		}
	}
	s.p.refresh(due)
	for _, id := range due {
		l := &s.sources[id].limited
		l.enabled = uint64(sys.Nanotime())
		l.end(l.enabled)
	}
	return left
}

// endLimit ends the time in which events are disabled by the limit: those of a session that has ended are by that.
func (s *Session) endLimit() {
	for _, id := range s.wanted {
		s.sources[id].limited.end(Now())
	}
}
