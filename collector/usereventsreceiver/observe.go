package usereventsreceiver

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/userevents/userevents-go/collector/usereventsreceiver/internal/metadata"
	"github.com/userevents/userevents-go/reader"
)

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

// with returns attributes, with the receiver's.
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
				o.Observe(one(reason == ""), s.telemetry.with(
					attribute.String("transport", string(transport)), attribute.String("reason", reason)))
			}
			return nil
		}))
}

func one(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// attached returns how many events are attached. Stats would ask the kernel about each of them on each processor.
func (s *session) attached() int {
	s.mu.Lock()
	src := s.source
	s.mu.Unlock()
	if src == nil {
		return 0
	}
	st := src.State()
	s.countExcluded(&st)
	return st.Attached
}

// countExcluded adds to the telemetry the records that were read and do not meet the condition.
func (s *session) countExcluded(st *reader.State) {
	s.mu.Lock()
	more := int64(st.Unselected - min(s.excluded, st.Unselected))
	s.excluded = st.Unselected
	s.mu.Unlock()
	if more > 0 {
		s.telemetry.ReceiverUserEventsExcludedRecords.Add(context.Background(), more, s.telemetry.with(attribute.String("reason", "condition")))
	}
}
