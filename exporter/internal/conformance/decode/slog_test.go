package decode

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/sloghandler"
)

// ids is the source of the records' ids.
type ids struct {
	trace [16]byte
	span  [8]byte
}

func newSlog(t testing.TB, r *rig, o sloghandler.Options, context2ids *ids) *sloghandler.Handler {
	t.Helper()
	o.Provider = r.provider
	o.TraceContext = func(context.Context) ([16]byte, [8]byte) { return context2ids.trace, context2ids.span }
	h, err := sloghandler.New("myapp", &o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	r.attach()
	return h
}

// TestSlogRecords: records of package sloghandler are read back.
func TestSlogRecords(t *testing.T) {
	r := newRig(t)
	var now ids
	h := newSlog(t, r, sloghandler.Options{}, &now)
	for seed := range rounds() {
		random := newRandom(seed)
		now = ids{}
		if random.IntN(2) == 0 {
			now = ids{[16]byte{15: byte(seed)}, [8]byte{0: 0xAB, 7: byte(seed)}}
		}
		level, message, at := slog.Level(random.IntN(30)-15), random.text(), time.Time{}
		if random.IntN(4) > 0 {
			at = time.Unix(random.Int64N(1<<33), random.Int64N(1e9)).UTC()
		}
		logged := random.fields(random.IntN(7), 3)
		record := slog.NewRecord(at, level, message, 0)
		record.AddAttrs(slogAttrs(logged)...)
		require.NoError(t, h.Handle(context.Background(), record))

		ev := r.event()
		assert.Equal(t, reader.KindLog, ev.Kind)
		assert.Equal(t, reader.Severity(min(max(level+9, 1), 24)), ev.Severity)
		assert.Equal(t, level.String(), ev.SeverityText)
		assert.Equal(t, message, ev.Message)
		assert.Equal(t, reader.StringValue(message), ev.Body)
		assert.Equal(t, at, ev.Timestamp)
		assert.Equal(t, now, ids{ev.TraceID, ev.SpanID})
		assert.Empty(t, ev.EventName)
		assert.Zero(t, ev.Truncated)
		recordtest.AssertFields(t, allAsJSON(logged), ev.Fields, "seed ", seed)
		assert.Nil(t, ev.Header)
		if t.Failed() {
			t.FailNow()
		}
	}
}

// declaredRequest is a declared record, with fields that have the names of others.
type declaredRequest struct {
	Route   string        `uevent:"http.route"`
	Status  uint16        `uevent:"status"`
	Latency time.Duration `uevent:"latency_ns"`
	Message string        `uevent:"message"`
}

// TestSlogDeclaredRecords: a declared record has the name of its declaration and no message.
func TestSlogDeclaredRecords(t *testing.T) {
	r := newRig(t)
	now := ids{[16]byte{1}, [8]byte{2}}
	declared := sloghandler.Declare[declaredRequest]("request", nil)
	h := newSlog(t, r, sloghandler.Options{AddSource: true, Declarations: []sloghandler.AnyDeclaration{declared}}, &now)
	slog.New(h).Warn("request", "http.route", "a\nb", "status", "no number", "latency", time.Second, "message", `C:\new`, "more", 1)
	events := r.events()
	ev := events[0]
	assert.Equal(t, reader.KindLog, ev.Kind)
	assert.Equal(t, reader.SeverityWarn, ev.Severity)
	assert.Empty(t, ev.Message)
	assert.Equal(t, now, ids{ev.TraceID, ev.SpanID})
	assert.False(t, ev.Duplicate)
	function, _ := ev.Lookup("code.function.name")
	assert.Contains(t, function.Text(), "TestSlogDeclaredRecords")
	file, _ := ev.Lookup("code.file.path")
	assert.Contains(t, file.Text(), "slog_test.go")
	line, _ := ev.Lookup("code.line.number")
	assert.Positive(t, line.Int64())
	status, _ := ev.Lookup("status_2") // the field is 0
	assert.Equal(t, reader.StringValue("no number"), status, "the attribute that the field cannot hold")
	for name, want := range map[string]reader.Value{
		"latency_ns": reader.Int64Value(1e9), "message": reader.StringValue(`C:\new`), "more": reader.Int64Value(1),
	} {
		got, ok := ev.Lookup(name)
		assert.True(t, ok, name)
		assert.Equal(t, want, got, name)
	}
	assert.Equal(t, "myapp_request", ev.EventName)
	require.Len(t, events, 2)
	assert.Equal(t, "myapp_warn", events[1].Name)
	assert.Empty(t, events[1].EventName)
	assert.Equal(t, "request", events[1].Message)
	assert.True(t, events[1].Duplicate)
}
