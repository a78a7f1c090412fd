package usereventsreceiver

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// observe registers the metrics that are read when the Collector exports its own.
func (s *session) observe() error {
	s.telemetry.ReceiverUserEventsQueueCapacity.Record(context.Background(), int64(s.queue.max*chunkSize))
	return errors.Join(
		s.telemetry.RegisterReceiverUserEventsQueueSizeCallback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(s.queue.size()))
			return nil
		}),
		s.telemetry.RegisterReceiverUserEventsAttachedEventsCallback(func(_ context.Context, o metric.Int64Observer) error {
			n, err := s.attached()
			o.Observe(int64(n))
			return err
		}))
}

// attached returns how many events are attached.
func (s *session) attached() (int, error) {
	s.mu.Lock()
	src := s.source
	s.mu.Unlock()
	if src == nil {
		return 0, nil
	}
	st, err := src.Stats()
	return len(st.Sources), err
}
