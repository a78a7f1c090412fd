package usereventsreceiver

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
	"github.com/userevents/userevents-go/reader"
)

// notice handles a notice of the reader. The goroutine that reads events calls it.
func (s *session) notice(n reader.Notice) {
	event := zap.String("event", n.Event)
	switch n.Kind {
	case reader.NoticeLost:
		s.logger.Warn("records are lost, since a ring had no room", event, zap.Uint64("records", n.Count))
		s.countLost(n.Event, n.Count)
	case reader.NoticeFailed:
		s.logFailed(n)
		s.telemetry.ReceiverUserEventsFailedAttachments.Add(context.Background(), 1, s.telemetry.with())
	case reader.NoticeAttached:
		s.logger.Debug(n.Kind.String(), event, zap.Duration("gap", n.Gap))
		s.telemetry.ReceiverUserEventsUnattachedTime.Add(context.Background(), n.Gap.Seconds(), s.telemetry.with())
	case reader.NoticeExited:
		s.queue.end(n.PID)
	case reader.NoticeTransport, reader.NoticeRefused: // check and checkRights say so, too
	case reader.NoticeDisabled:
		s.logger.Warn("a program had disabled the event, since its ring was full and not read: records of that time are not counted",
			event, zap.Duration("at_most", n.Gap))
	case reader.NoticeLimited:
		s.limited(n)
	case reader.NoticeDetached:
		s.logger.Debug("detached, since the last program that wrote the event has exited", event, zap.Error(n.Err))
	default:
		s.logger.Debug(n.Kind.String(), event)
	}
}

// maxNamed is how many events beyond the limits the log has by name. Programs make up names.
const maxNamed = 100

// logFailed says that an event, or a program with all of its events, is not collected.
func (s *session) logFailed(n reader.Notice) {
	if errors.Is(n.Err, reader.ErrTooManyEvents) {
		if s.leftOut++; s.leftOut > maxNamed {
			return
		}
		if s.leftOut == maxNamed {
			defer s.logger.Warn("further events beyond the limits are counted as failed attachments, and not named")
		}
	}
	if n.Event == "" { // in shared memory
		s.logger.Warn("a program is not collected", zap.Error(n.Err))
		return
	}
	s.logger.Warn("an event is not collected", zap.String("event", n.Event), zap.Error(n.Err))
}

func (s *session) countLost(event string, n uint64) {
	s.lost[event] += n
	s.telemetry.ReceiverUserEventsLostRecords.Add(context.Background(), int64(n), s.telemetry.with(eventAttribute(event)))
}

// countUnread counts the lost records that no notice has reported by event: above all those that are unread when the source is closed. st
// has the counts before that.
func (s *session) countUnread(st *reader.Stats) {
	left := map[string]uint64{} // an event can have an entry of the kernel and one of shared memory
	for _, src := range st.Events {
		left[src.Name] += src.Lost + src.Pending
	}
	for name, n := range left {
		if counted := s.lost[name]; n > counted {
			s.countLost(name, n-counted)
		}
	}
}

// countRest counts the lost records of events that are not known any more. st has the counts after the source was closed.
func (s *session) countRest(st *reader.Stats) {
	var counted uint64
	for _, n := range s.lost {
		counted += n
	}
	if n := st.Total.Lost; n > counted {
		s.countLost("", n-counted)
	}
}

// telemetry are the metrics of a receiver. Those of all receivers of a Collector have the same names.
type telemetry struct {
	*metadata.TelemetryBuilder
	receiver attribute.KeyValue
}

func newTelemetry(set receiver.Settings) (*telemetry, error) {
	b, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	return &telemetry{b, attribute.String("receiver", set.ID.String())}, err
}

// eventAttribute returns the attribute for an event. Programs choose the names of events, and text that is not UTF-8 would make all
// metrics of the Collector unreadable.
func eventAttribute(name string) attribute.KeyValue {
	return attribute.String("event", strings.ToValidUTF8(name, "\uFFFD"))
}

func (t *telemetry) with(kv ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributes(append(kv, t.receiver)...)
}

// observe registers the metrics that are read when the Collector exports its own.
func (s *session) observe() error {
	s.telemetry.ReceiverUserEventsQueueCapacity.Record(context.Background(), int64(s.queue.max*chunkSize), s.telemetry.with())
	b := s.cfg.budget(processors())
	s.telemetry.ReceiverUserEventsRingCapacity.Record(context.Background(), int64(b.ring), s.telemetry.with())
	s.telemetry.ReceiverUserEventsProgramCapacity.Record(context.Background(), int64(b.programs), s.telemetry.with())
	return errors.Join(
		s.telemetry.RegisterReceiverUserEventsQueueSizeCallback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(s.queue.size()), s.telemetry.with())
			return nil
		}),
		s.telemetry.RegisterReceiverUserEventsAttachedEventsCallback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(s.attached()), s.telemetry.with())
			return nil
		}),
		s.telemetry.RegisterReceiverUserEventsAvailableCallback(func(_ context.Context, o metric.Int64Observer) error {
			for transport, reason := range s.available.reasons() {
				is := int64(1)
				if reason != "" {
					is = 0
				}
				o.Observe(is, s.telemetry.with(attribute.String("transport", string(transport)), attribute.String("reason", reason)))
			}
			return nil
		}))
}

// attached returns how many events are attached. Stats would ask the kernel about each of them on each processor.
func (s *session) attached() int {
	s.mu.Lock()
	src := s.source
	s.mu.Unlock()
	if src == nil {
		return 0
	}
	return src.State().Attached
}

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
