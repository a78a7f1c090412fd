package usereventsreceiver

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/userevents/userevents-go/reader"
)

// TestUnattachedTime: the time that is not collected before an event is attached is a metric.
func TestUnattachedTime(t *testing.T) {
	s, telemetry, _ := observed(t)
	s.notice(reader.Notice{Kind: reader.NoticeAttached, Event: "user_events:a", Gap: 250 * time.Millisecond})
	s.notice(reader.Notice{Kind: reader.NoticeAttached, Event: "user_events:b", Gap: 500 * time.Millisecond})
	got, err := telemetry.GetMetric("otelcol_receiver_user_events_unattached_time")
	require.NoError(t, err)
	metricdatatest.AssertAggregationsEqual(t, metricdata.Sum[float64]{
		DataPoints:  []metricdata.DataPoint[float64]{{Value: 0.75, Attributes: attribute.NewSet(s.telemetry.receiver)}},
		Temporality: metricdata.CumulativeTemporality, IsMonotonic: true,
	}, got.Data, metricdatatest.IgnoreTimestamp())
}

// observed is a session without a source, what it measures and what it logs.
func observed(t *testing.T) (s *session, telemetry *componenttest.Telemetry, logged *observer.ObservedLogs) {
	telemetry = componenttest.NewTelemetry()
	t.Cleanup(func() { assert.NoError(t, telemetry.Shutdown(context.Background())) })
	set := newSettings(telemetry)
	core, logged := observer.New(zap.DebugLevel)
	set.Logger = zap.New(core)
	s, err := newSession(set, fast(), nil)
	require.NoError(t, err)
	return s, telemetry, logged
}

// TestOmittedEvents: events beyond the limits are named in the log, as far as it has room for them, and all are counted.
func TestOmittedEvents(t *testing.T) {
	s, telemetry, logged := observed(t)
	for i := range 10 * maxNamed {
		s.notice(reader.Notice{Kind: reader.NoticeFailed, Event: fmt.Sprintf("user_events:e%d", i), Err: reader.ErrTooManyEvents})
	}
	s.notice(reader.Notice{Kind: reader.NoticeFailed, Event: "user_events:other", Err: assert.AnError})
	assert.Equal(t, maxNamed+2, logged.Len())
	assert.Equal(t, "user_events:e0", logged.All()[0].ContextMap()["event"])
	assert.EqualValues(t, 10*maxNamed+1, counter(t, telemetry, "user_events_failed_attachments"))
}

// TestOmittedProgram: a program that is not attached has no event, and the log says that it is a program.
func TestOmittedProgram(t *testing.T) {
	s, _, logged := observed(t)
	s.notice(reader.Notice{Kind: reader.NoticeFailed, Err: assert.AnError})
	require.Equal(t, 1, logged.Len())
	assert.Equal(t, "a program is not collected", logged.All()[0].Message)
	assert.Equal(t, map[string]any{"error": assert.AnError.Error()}, logged.All()[0].ContextMap())
}
