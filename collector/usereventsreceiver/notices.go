package usereventsreceiver

import (
	"context"
	"errors"

	"go.uber.org/zap"

	"github.com/userevents/userevents-go/reader"
)

// lostCounts are the lost records that were counted since a source was opened.
type lostCounts struct {
	of    map[string]uint64 // by event
	total uint64
}

func (l *lostCounts) begin() { *l = lostCounts{of: map[string]uint64{}} }

func (l *lostCounts) add(event string, n uint64) {
	l.of[event] += n
	l.total += n
}

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
	s.lost.add(event, n)
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
		if counted := s.lost.of[name]; n > counted {
			s.countLost(name, n-counted)
		}
	}
}

// countRest counts the lost records of events that are not known any more. st has the counts after the source was closed.
func (s *session) countRest(st *reader.Stats) {
	if n := st.Total.Lost; n > s.lost.total {
		s.countLost("", n-s.lost.total)
	}
}
