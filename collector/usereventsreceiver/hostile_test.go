package usereventsreceiver

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

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
