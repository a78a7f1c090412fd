package attach

import (
	"math"
	"time"
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

// secondAfter returns when the program's clock begins another second, in which the limit allows records again.
func (s *Session) secondAfter(t uint64) uint64 {
	return t + uint64(time.Second) - (t+uint64(s.p.ahead))%uint64(time.Second)
}

// keepLimit looks which events the limit has disabled, and enables those whose second is over. It returns when the next second of
// another one is over, or [math.MaxUint64]. now is not after the time at which the records were collected.
func (s *Session) keepLimit(now uint64) (next uint64) {
	next = math.MaxUint64
	if s.o.Limit == 0 && !s.paused || s.p.control.Claimed.Load()&(1<<s.i) == 0 { // Renew enables what the expiry has disabled
		return next
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
		if over := s.secondAfter(l.since); over <= now {
			request.Or(1 << s.i)
			due = append(due, id)
		} else {
			next = min(next, over)
		}
	}
	s.p.refresh(due)
	for _, id := range due {
		l := &s.sources[id].limited
		l.enabled = Now()
		l.end(l.enabled)
	}
	return next
}

// endLimit ends the time in which events are disabled by the limit: those of a session that has ended are by that.
func (s *Session) endLimit() {
	for _, id := range s.wanted {
		s.sources[id].limited.end(Now())
	}
}
