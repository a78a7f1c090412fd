package usereventsreceiver

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
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

// TestLimits: while programs are above their share, the log has a line a minute, and the metric all. The rest of the last minute is logged by a
// check of the source.
func TestLimits(t *testing.T) {
	src := &machineSource{m: newMachine(t, nil)}
	synctest.Test(t, func(t *testing.T) {
		s, telemetry, logged := observed(t)
		s.cfg.Transport = transportMemory
		check := func() {
			_, err := s.check(src)
			require.NoError(t, err)
		}
		check()
		logged.TakeAll()
		const seconds, events = 90, 2 * maxLimited
		for range seconds {
			for i := range events {
				s.notice(reader.Notice{Kind: reader.NoticeLimited, Event: fmt.Sprintf("user_events:e%02d", i), Count: uint64(i + 1), Gap: time.Millisecond})
			}
			time.Sleep(time.Second) //nolint:forbidigo // of the bubble
		}
		entries := logged.TakeAll()
		require.Len(t, entries, 2)
		assert.Equal(t, "events were disabled, since their programs were above their share", entries[0].Message)
		assert.Equal(t, map[string]any{"events": int64(1), "most": []any{"user_events:e00"}, "times": uint64(1), "for": time.Millisecond}, entries[0].ContextMap())
		second := entries[1].ContextMap()
		assert.EqualValues(t, events, second["events"])
		most := second["most"].([]any)
		assert.Len(t, most, maxLimited)
		assert.Equal(t, "user_events:e19", most[0])

		check()
		assert.Zero(t, logged.Len())
		time.Sleep(time.Minute) //nolint:forbidigo // of the bubble
		check()
		time.Sleep(time.Hour) //nolint:forbidigo // of the bubble
		check()
		third := logged.TakeAll()
		require.Len(t, third, 1)
		of := func(e observer.LoggedEntry) (uint64, time.Duration) {
			c := e.ContextMap()
			return c["times"].(uint64), c["for"].(time.Duration)
		}
		var times uint64
		var gap time.Duration
		for _, e := range append(entries, third...) {
			n, d := of(e)
			times, gap = times+n, gap+d
		}
		assert.EqualValues(t, seconds*events*(events+1)/2, times)
		assert.Equal(t, seconds*events*time.Millisecond, gap)
		assert.EqualValues(t, times, counter(t, telemetry, "user_events_limits"))
	})
}

// TestHostileNames: the name of an event that is not UTF-8 does not make the Collector's metrics unreadable.
func TestHostileNames(t *testing.T) {
	m := newMachine(t, nil)
	m.logger("myapp")
	r, telemetry := m.start(fast(), new(sink))
	require.NoError(t, r.Shutdown(t.Context()))
	ses := r.(*session)
	ses.notice(reader.Notice{Kind: reader.NoticeLost, Event: "user_events:a\xffb", Count: 3})
	ses.outputs.drop("user_events:a\xffb", reasonRetry, 2)
	for name, n := range map[string]int64{"user_events_lost_records": 3, "user_events_dropped_records": 2} {
		assert.Equal(t, n, counter(t, telemetry, name, attribute.String("event", "user_events:a\uFFFDb")), name)
	}
}

// TestHostileTexts: texts that are not UTF-8 and those that are as long as they can be reach consumers as valid data, and other records with them.
func TestHostileTexts(t *testing.T) {
	m := newMachine(t, nil)
	l := m.logger("myapp")
	e, err := m.provider().Register(tracepoint.MustParse("foreign __data_loc char[] text; u32 n"), nil)
	require.NoError(t, err)
	s := new(sink)
	r, telemetry := m.start(fast(), s)
	long := strings.Repeat("\xff\x00\"é", 12_000)
	l.Info(long, long[:100], long, "n", 1)
	for _, text := range []string{"a\xffb", strings.Repeat("\xff", e.MaxPayload()-100), ""} {
		record := binary.NativeEndian.AppendUint32(make([]byte, uevents.IndexSize), uint32(len(text)+1)<<16|8+tracepoint.CommonSize)
		record = binary.NativeEndian.AppendUint32(record, 7)
		_, err := e.WriteRecord(append(append(record, text...), 0))
		require.NoError(t, err)
	}
	l.Info("hello")
	require.NoError(t, r.Shutdown(t.Context()))
	assert.Equal(t, int64(5), counter(t, telemetry, "accepted_log_records"))
	for _, data := range s.AllLogs() {
		text, err := (&plog.JSONMarshaler{}).MarshalLogs(data)
		require.NoError(t, err)
		assert.True(t, utf8.Valid(text))
		_, err = (&plog.ProtoMarshaler{}).MarshalLogs(data)
		require.NoError(t, err)
	}
	assert.Contains(t, s.bodies(), "hello")
}
