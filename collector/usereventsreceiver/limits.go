package usereventsreceiver

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/userevents/userevents-go/reader"
)

const (
	limitsInterval = time.Minute // between lines of the log
	maxLimited     = 10          // events that a line has by name
)

// limits are the events that were disabled since the last line of the log, because their programs were above their share. A program that
// stays above it has a notice for each event and second.
type limits struct {
	said  time.Time         // when the last line was logged
	times map[string]uint64 // by event
	time  time.Duration     // for which they were disabled in all
}

// limited counts how often an event was disabled.
func (s *session) limited(n reader.Notice) {
	event := s.telemetry.with(eventAttribute(n.Event))
	s.telemetry.ReceiverUserEventsLimits.Add(context.Background(), int64(n.Count), event)
	s.telemetry.ReceiverUserEventsLimitedTime.Add(context.Background(), n.Gap.Seconds(), event)
	if s.limits.times == nil {
		s.limits.times = map[string]uint64{}
	}
	s.limits.times[n.Event] += n.Count
	s.limits.time += n.Gap
	s.logLimits(time.Now())
}

// logLimits logs the events that were disabled, unless there are none, or there was a line less than a minute ago.
func (s *session) logLimits(now time.Time) {
	l := &s.limits
	if len(l.times) == 0 || now.Sub(l.said) < limitsInterval {
		return
	}
	most := slices.SortedFunc(maps.Keys(l.times), func(a, b string) int {
		return cmp.Or(cmp.Compare(l.times[b], l.times[a]), cmp.Compare(a, b))
	})
	var times uint64
	for _, n := range l.times {
		times += n
	}
	s.logger.Warn("events were disabled, since their programs were above their share",
		zap.Int("events", len(most)), zap.Strings("most", most[:min(maxLimited, len(most))]), zap.Uint64("times", times), zap.Duration("for", l.time))
	*l = limits{said: now}
}
