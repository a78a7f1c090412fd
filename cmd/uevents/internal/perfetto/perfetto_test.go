package perfetto

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/record"
)

// Clocks of the machine of the tests' events, which has slept for 7 s.
const (
	boot  = uint64(1e12) // CLOCK_MONOTONIC when the tests' events begin
	slept = uint64(7e9)
	since = int64(1_700_000_000_000_000_000) // CLOCK_REALTIME at boot
)

func machine() (Clocks, error) { return Clocks{boot, boot + slept, uint64(since) + boot}, nil }

// wall returns the time of day n nanoseconds after boot.
func wall(n uint64) time.Time { return time.Unix(0, since+int64(boot+n)) }

// event returns an event that was written n nanoseconds after boot.
func event(kind record.Kind, n uint64, edit func(ev *record.Record)) *record.Record {
	ev := &record.Record{
		Kind: kind, Time: wall(n), Monotonic: boot + n, PID: 100, TID: 101, System: "user_events", Name: "myapp_x",
		Process: &record.Process{PID: 100, Comm: "myapp-worker", Exe: "/usr/bin/myapp"},
	}
	if edit != nil {
		edit(ev)
	}
	return ev
}

func id(n int) (id spanID) {
	binary.BigEndian.PutUint64(id[:], uint64(n))
	return id
}

func trace(n int) (id traceID) {
	binary.BigEndian.PutUint64(id[8:], uint64(n))
	return id
}

// span returns a span of the first trace, whose record was written when it ended.
func span(n, parent int, begin, end uint64, edit func(ev *record.Record)) *record.Record {
	return event(record.KindSpan, end, func(ev *record.Record) {
		ev.TraceID, ev.SpanID, ev.Message = trace(1), id(n), fmt.Sprint("span ", n)
		if parent != 0 {
			ev.ParentSpanID = id(parent)
		}
		ev.Timestamp, ev.Duration = wall(begin), time.Duration(end-begin)
		if edit != nil {
			edit(ev)
		}
	})
}

// written writes events and returns the packets of the file.
func written(t *testing.T, events ...*record.Record) []packet {
	t.Helper()
	var file bytes.Buffer
	w := NewWriter(&file, machine)
	for _, ev := range events {
		require.NoError(t, w.Write(ev))
	}
	require.NoError(t, w.Close())
	return decode(t, file.Bytes())
}

// eventsOf returns the track events of a trace.
func eventsOf(trace []packet) (list []packet) {
	for _, p := range trace {
		if p.Event != nil {
			list = append(list, p)
		}
	}
	return list
}

func trackOf(t *testing.T, trace []packet, uuid uint64) *descriptor {
	t.Helper()
	for _, p := range trace {
		if p.Track != nil && p.Track.UUID == uuid {
			return p.Track
		}
	}
	require.Fail(t, "no such track")
	return nil
}

// slicesIn returns the slices of all tracks by the ids of their spans.
func slicesIn(t *testing.T, trace []packet) map[string]*slice {
	t.Helper()
	tracks := map[uint64][]packet{}
	for _, p := range eventsOf(trace) {
		tracks[p.Event.Track] = append(tracks[p.Event.Track], p)
	}
	found := map[string]*slice{}
	for _, events := range tracks {
		for _, s := range slicesOf(t, events) {
			require.NotContains(t, found, s.id)
			found[s.id] = s
		}
	}
	return found
}

func TestClocks(t *testing.T) {
	trace := written(t, event(record.KindLog, 5, nil), event(record.KindLog, uint64(snapshotEvery)+4, nil), event(record.KindLog, uint64(snapshotEvery)+5, nil))
	var snapshots int
	for _, p := range trace {
		if p.Snapshot == nil {
			continue
		}
		snapshots++
		got := map[int]uint64{}
		for _, c := range p.Snapshot.Clocks {
			got[c.ID] = c.Time
		}
		assert.Equal(t, map[int]uint64{3: boot, 6: boot + slept, 1: uint64(since) + boot}, got)
		assert.Equal(t, "BUILTIN_CLOCK_BOOTTIME", p.Snapshot.Primary)
	}
	assert.Equal(t, 2, snapshots, "the first packet and one after ten seconds")
	assert.Equal(t, boot+5, eventsOf(trace)[0].Timestamp)
}

// Without the machine's clocks, snapshots have the clocks of the events.
func TestClocksOfEvents(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file, nil)
	require.NoError(t, w.Write(event(record.KindLog, 5, nil)))
	require.NoError(t, w.Close())
	clocks := decode(t, file.Bytes())[0].Snapshot.Clocks
	assert.EqualValues(t, boot+5, clocks[0].Time)
	assert.EqualValues(t, boot+5, clocks[1].Time)
	assert.EqualValues(t, uint64(since)+boot+5, clocks[2].Time)

	w = NewWriter(&file, func() (Clocks, error) { return Clocks{}, assert.AnError })
	assert.ErrorIs(t, w.Write(event(record.KindLog, 5, nil)), assert.AnError)
}

func TestLog(t *testing.T) {
	trace := written(t, event(record.KindLog, 50, func(ev *record.Record) {
		ev.Message, ev.EventName, ev.Severity, ev.Timestamp = "cache miss", "cache.miss", record.SeverityWarn, wall(40)
		ev.TraceID, ev.SpanID, ev.ServiceName, ev.ScopeName, ev.Truncated = trace(0x1234), id(7), "shop", "my/package", 2
		ev.SetFields([]record.Field{
			{Name: "s", Value: record.StringValue("text")},
			{Name: "i", Value: record.Int64Value(-1)},
			{Name: "u", Value: record.Uint64Value(math.MaxUint64)},
			{Name: "f", Value: record.Float64Value(0.5)},
			{Name: "b", Value: record.BoolValue(true)},
			{Name: "raw", Value: record.BytesValue([]byte{0xab})},
			{Name: "null"},
			{Name: "none", Value: record.ListValue(nil)},
			{Name: "list", Value: record.ListValue([]record.Field{{Value: record.Int64Value(1)}})},
			{Name: "map", Value: record.MapValue([]record.Field{{Name: "k", Value: record.BoolValue(false)}})},
		})
	}))
	events := eventsOf(trace)
	require.Len(t, events, 1)
	e := events[0].Event
	assert.Equal(t, boot+40, events[0].Timestamp, "when the program says that it happened")
	assert.Equal(t, "TYPE_INSTANT", e.Type)
	assert.Equal(t, "cache miss", e.Name)
	assert.Equal(t, []string{"WARN", "myapp_x"}, e.Categories)
	assert.Equal(t, []string{fmt.Sprint(0x1234)}, e.Flows)
	for name, want := range map[string]string{
		"severity": "WARN", "s": "text", "raw": "ab", "null": "null", "none": "[]", "scope": "my/package", "service": "shop",
		"event_name": "cache.miss", "trace_id": "00000000000000000000000000001234", "span_id": "0000000000000007",
	} {
		assert.Equal(t, want, e.text(name), name)
	}
	yes, no := true, false
	for _, want := range []annotation{
		{Name: "i", Int: "-1"},
		{Name: "u", Uint: "18446744073709551615"},
		{Name: "f", Double: 0.5},
		{Name: "b", Bool: &yes},
		{Name: "truncated", Int: "2"},
		{Name: "list", Array: []annotation{{Int: "1"}}},
		{Name: "map", Dict: []annotation{{Name: "k", Bool: &no}}},
	} {
		assert.Contains(t, e.Annotations, want)
	}
	thread := trackOf(t, trace, e.Track)
	assert.Equal(t, 100, thread.Thread.PID)
	assert.Equal(t, "101", thread.Thread.TID)
	var process *descriptor
	for _, p := range trace {
		if p.Track != nil && p.Track.Process != nil {
			process = p.Track
		}
	}
	require.NotNil(t, process)
	assert.Equal(t, "myapp", process.Process.Name)
	assert.Equal(t, 100, process.Process.PID)
}

// Implausible times of programs are not used.
func TestTimes(t *testing.T) {
	for name, at := range map[string]time.Time{"none": {}, "after the record": wall(51), "long ago": wall(0).Add(-24 * time.Hour), "before 1970": time.Unix(-1, 0)} {
		events := eventsOf(written(t, event(record.KindLog, 50, func(ev *record.Record) { ev.Timestamp = at })))
		assert.Equal(t, boot+50, events[0].Timestamp, name)
	}
	// A span without a time ends with its record. No span begins before time 0.
	s := slicesIn(t, written(t, span(1, 0, 0, 50, func(ev *record.Record) { ev.Timestamp, ev.Duration = time.Time{}, 20 }),
		span(2, 0, 0, 60, func(ev *record.Record) { ev.Timestamp, ev.Duration = time.Time{}, math.MaxInt64 }),
		span(3, 0, 0, 70, func(ev *record.Record) { ev.Timestamp, ev.Duration = time.Time{}, -5 })))
	assert.Equal(t, []uint64{boot + 30, boot + 50}, []uint64{s[hexOf(1)].begin, s[hexOf(1)].end})
	assert.Equal(t, []uint64{0, boot + 60}, []uint64{s[hexOf(2)].begin, s[hexOf(2)].end})
	assert.Equal(t, []uint64{boot + 70, boot + 70}, []uint64{s[hexOf(3)].begin, s[hexOf(3)].end})
}

func hexOf(n int) string { return fmt.Sprintf("%016x", n) }

func TestSpan(t *testing.T) {
	trace := written(t,
		event(record.KindSpanStart, 10, func(ev *record.Record) { ev.TraceID, ev.SpanID, ev.Timestamp = trace(1), id(1), wall(10) }),
		event(record.KindSpanEvent, 90, func(ev *record.Record) {
			ev.TraceID, ev.SpanID, ev.Message, ev.Timestamp = trace(1), id(1), "retry", wall(40)
			ev.SetFields([]record.Field{{Name: "n", Value: record.Int64Value(1)}})
		}),
		event(record.KindSpanLink, 90, func(ev *record.Record) {
			ev.TraceID, ev.SpanID, ev.LinkedTraceID, ev.LinkedSpanID = trace(1), id(1), trace(9), id(8)
			ev.SetFields([]record.Field{{Name: "why", Value: record.StringValue("batch")}})
		}),
		span(1, 5, 10, 80, func(ev *record.Record) {
			ev.Monotonic, ev.Time = boot+95, wall(95) // an exporter wrote it later
			ev.ParentRemote, ev.SpanKind, ev.Status, ev.StatusMessage = true, record.SpanKindServer, record.StatusError, "boom"
			ev.NestedEvents = []record.NestedEvent{{Name: "inside", Time: wall(50), Attributes: []record.Field{{Name: "k", Value: record.Int64Value(2)}}}}
			ev.NestedLinks = []record.NestedLink{{TraceID: trace(7), SpanID: id(6)}}
		}))
	events := eventsOf(trace)
	require.Len(t, events, 4, "the start is not drawn twice")
	begin, retry, inside, end := events[0], events[1], events[2], events[3]
	assert.Equal(t, []string{"TYPE_SLICE_BEGIN", "TYPE_INSTANT", "TYPE_INSTANT", "TYPE_SLICE_END"},
		[]string{begin.Event.Type, retry.Event.Type, inside.Event.Type, end.Event.Type})
	assert.Equal(t, []uint64{boot + 10, boot + 40, boot + 50, boot + 80}, []uint64{begin.Timestamp, retry.Timestamp, inside.Timestamp, end.Timestamp})
	assert.Equal(t, "span 1", begin.Event.Name)
	assert.Equal(t, []string{"1", "9", "7"}, begin.Event.Flows, "its trace and the ones that it links to")
	for name, want := range map[string]string{
		"span_kind": "server", "status": "error", "status_message": "boom", "span_id": hexOf(1), "parent_span_id": hexOf(5),
	} {
		assert.Equal(t, want, begin.Event.text(name), name)
	}
	link := begin.Event.Annotations[len(begin.Event.Annotations)-2]
	assert.Equal(t, "link", link.Name)
	assert.Equal(t, []string{"00000000000000000000000000000009", hexOf(8), "batch"}, []string{*link.Dict[0].String, *link.Dict[1].String, *link.Dict[2].String})
	assert.Equal(t, "retry", retry.Event.Name)
	assert.Contains(t, retry.Event.Annotations, annotation{Name: "n", Int: "1"})
	assert.Equal(t, "inside", inside.Event.Name)
	track := trackOf(t, trace, begin.Event.Track)
	assert.Equal(t, "spans", track.Name)
	assert.Equal(t, 100, trackOf(t, trace, track.Parent).Process.PID)
}

// TestLongSpan: the events of a span are on the track of its slice, however long it takes, and whatever comes meanwhile.
func TestLongSpan(t *testing.T) {
	const minutes = 10
	retry := func(second uint64, n int) *record.Record {
		at := second * uint64(time.Second)
		return event(record.KindSpanEvent, at, func(ev *record.Record) {
			ev.TraceID, ev.SpanID, ev.Message, ev.Timestamp = trace(1), id(n), "retry", wall(at)
		})
	}
	var events []*record.Record
	for second := range uint64(minutes * 60) {
		n, at := 2+int(second), second*uint64(time.Second)
		events = append(events, retry(second, 1), retry(second, n), span(n, 1, at, at+1, nil))
	}
	packets := written(t, append(events, span(1, 0, 0, minutes*uint64(time.Minute), nil))...)
	found := 0
	for _, p := range eventsOf(packets) {
		if p.Event.Name == "retry" {
			require.Nil(t, trackOf(t, packets, p.Event.Track).Thread)
			found++
		}
	}
	assert.Equal(t, 2*minutes*60, found)
}

// A span that does not end is a slice without an end. Events whose span does not arrive are on their thread.
func TestUnfinished(t *testing.T) {
	trace := written(t,
		event(record.KindSpanStart, 10, func(ev *record.Record) {
			ev.TraceID, ev.SpanID, ev.Message, ev.Timestamp = trace(1), id(1), "stuck", wall(10)
		}),
		event(record.KindSpanEvent, 20, func(ev *record.Record) {
			ev.TraceID, ev.SpanID, ev.Message, ev.Timestamp = trace(1), id(1), "retry", wall(15)
		}),
		span(2, 1, 12, 30, nil))
	found := slicesIn(t, trace)
	require.Len(t, found, 2)
	assert.Equal(t, slice{name: "stuck", id: hexOf(1), begin: boot + 10}, *found[hexOf(1)])
	assert.Nil(t, found[hexOf(2)].around)
	for _, p := range eventsOf(trace) {
		if p.Event.Name == "retry" {
			assert.NotNil(t, trackOf(t, trace, p.Event.Track).Thread)
			assert.Equal(t, boot+15, p.Timestamp)
			return
		}
	}
	assert.Fail(t, "the event is missing")
}

// TestProgramOfProcess: a process that runs another program, or another process of its number, has tracks of its own.
func TestProgramOfProcess(t *testing.T) {
	runs := func(n uint64, p *record.Process) *record.Record {
		return event(record.KindLog, n, func(ev *record.Record) { ev.Process = p })
	}
	trace := written(t,
		runs(1, &record.Process{PID: 100, Comm: "sh", Exe: "/bin/sh"}),
		runs(2, nil),
		runs(3, &record.Process{PID: 100, Comm: "sh-thread", Exe: "/bin/sh"}),
		runs(4, &record.Process{PID: 100, Comm: "myapp", Exe: "/usr/bin/myapp"}),
		runs(5, &record.Process{PID: 100, Comm: "myapp"}),
		runs(6, &record.Process{PID: 100, Comm: "other"}))
	var names []string
	for _, p := range trace {
		if p.Track != nil && p.Track.Process != nil {
			names = append(names, p.Track.Process.Name)
		}
	}
	assert.Equal(t, []string{"sh", "myapp", "other"}, names)
	var tracks []uint64
	for _, p := range eventsOf(trace) {
		tracks = append(tracks, p.Event.Track)
	}
	require.Len(t, tracks, 6)
	assert.Equal(t, []uint64{tracks[0], tracks[0], tracks[0], tracks[3], tracks[3]}, tracks[:5])
	assert.NotEqual(t, tracks[0], tracks[3])
	assert.NotEqual(t, tracks[3], tracks[5])
	assert.NotEqual(t, tracks[0], tracks[5])
}

func TestCounters(t *testing.T) {
	point := func(n uint64, p record.Point, edit func(ev *record.Record)) *record.Record {
		return event(record.KindMetric, n, func(ev *record.Record) {
			ev.Message, ev.Timestamp, ev.Point = "requests", wall(n), &p
			p.Unit = "{request}"
			if edit != nil {
				edit(ev)
			}
		})
	}
	series := func(ev *record.Record) { ev.SetFields([]record.Field{{Name: "route", Value: record.StringValue("/")}}) }
	trace := written(t,
		point(1, record.Point{Type: record.PointSum, Value: record.Int64Value(3)}, nil),
		point(2, record.Point{Type: record.PointGauge, Value: record.Float64Value(0.5)}, series),
		point(3, record.Point{Type: record.PointSum, Value: record.Int64Value(4)}, nil),
		point(4, record.Point{Type: record.PointHistogram, Count: 3}, nil))
	events := eventsOf(trace)
	require.Len(t, events, 4)
	assert.Equal(t, []float64{3, 0.5, 4}, []float64{events[0].Event.Double, events[1].Event.Double, events[2].Event.Double})
	assert.Equal(t, events[0].Event.Track, events[2].Event.Track)
	assert.Equal(t, `requests`, trackOf(t, trace, events[0].Event.Track).Name)
	assert.Equal(t, `requests {"route":"/"}`, trackOf(t, trace, events[1].Event.Track).Name)
	assert.Equal(t, "{request}", trackOf(t, trace, events[1].Event.Track).Counter.UnitName)
	assert.Equal(t, "TYPE_INSTANT", events[3].Event.Type)
}

func TestLost(t *testing.T) {
	var file bytes.Buffer
	w := NewWriter(&file, machine)
	require.NoError(t, w.Write(event(record.KindLog, 5, nil)))
	require.NoError(t, w.Lost("user_events:myapp_x", 3, wall(10)))
	require.NoError(t, w.Lost("user_events:myapp_x", 4, wall(20)))
	require.NoError(t, w.Close())
	trace := decode(t, file.Bytes())
	events := eventsOf(trace)
	require.Len(t, events, 3)
	assert.Equal(t, []string{"3", "7"}, []string{events[1].Event.Int, events[2].Event.Int}, "all so far")
	assert.Equal(t, []uint64{boot + 10, boot + 20}, []uint64{events[1].Timestamp, events[2].Timestamp})
	track := trackOf(t, trace, events[1].Event.Track)
	assert.Equal(t, "lost records of user_events:myapp_x", track.Name)
	assert.Equal(t, "UNIT_COUNT", track.Counter.Unit)
	assert.Zero(t, track.Parent)
}

// Losses before the first record are written when that says how the clocks differ, and do not end the snapshots of clocks.
func TestLostFirst(t *testing.T) {
	for _, clocks := range []func() (Clocks, error){machine, nil} {
		var file bytes.Buffer
		w := NewWriter(&file, clocks)
		require.NoError(t, w.Lost("user_events:myapp_x", 3, wall(1)))
		require.NoError(t, w.Lost("user_events:myapp_x", 4, wall(2)))
		require.NoError(t, w.Write(event(record.KindLog, 5, nil)))
		require.NoError(t, w.Write(event(record.KindLog, uint64(snapshotEvery)+5, nil)))
		require.NoError(t, w.Close())
		trace := decode(t, file.Bytes())
		events := eventsOf(trace)
		require.Len(t, events, 3)
		assert.Equal(t, "7", events[0].Event.Int)
		assert.Equal(t, boot+2, events[0].Timestamp)
		snapshots := 0
		for _, p := range trace {
			if p.Snapshot != nil {
				snapshots++
			}
		}
		assert.Equal(t, 2, snapshots)
	}
}

// Losses are written although there is no record.
func TestLostOnly(t *testing.T) {
	for _, clocks := range []func() (Clocks, error){machine, nil} {
		var file bytes.Buffer
		w := NewWriter(&file, clocks)
		require.NoError(t, w.Lost("user_events:myapp_x", 3, wall(1)))
		require.NoError(t, w.Close())
		trace := decode(t, file.Bytes())
		want := uint64(wall(1).UnixNano()) // without another clock
		if clocks != nil {
			want = boot + 1
		}
		require.Len(t, eventsOf(trace), 1)
		assert.Equal(t, want, eventsOf(trace)[0].Timestamp)
	}
}

// Context switches are in the clock that counts while the machine sleeps.
func TestSwitch(t *testing.T) {
	trace := written(t, event(record.KindOther, 50, func(ev *record.Record) {
		ev.System, ev.Name, ev.CPU = schedSystem, switchName, 3
		ev.SetFields([]record.Field{
			{Name: "prev_comm", Value: record.StringValue("myapp")},
			{Name: "prev_pid", Value: record.Int64Value(101)},
			{Name: "prev_prio", Value: record.Int64Value(120)},
			{Name: "prev_state", Value: record.Int64Value(1)},
			{Name: "next_comm", Value: record.StringValue("swapper/3")},
			{Name: "next_pid", Value: record.Int64Value(0)},
			{Name: "next_prio", Value: record.Int64Value(120)},
		})
	}))
	require.Len(t, trace, 2)
	require.NotNil(t, trace[1].Ftrace)
	assert.Equal(t, 3, trace[1].Ftrace.CPU)
	e := trace[1].Ftrace.Event[0]
	assert.Equal(t, boot+50+slept, e.Timestamp)
	assert.Equal(t, 101, e.PID)
	assert.Equal(t, map[string]any{
		"prevComm": "myapp", "prevPid": 101.0, "prevPrio": 120.0, "prevState": "1", "nextComm": "swapper/3", "nextPid": 0.0, "nextPrio": 120.0,
	}, e.Switch)
}

// Perfetto opens a file without events.
func TestEmpty(t *testing.T) {
	assert.Len(t, written(t), 1)
}

func TestHostileText(t *testing.T) {
	deep := record.Int64Value(1)
	for range 3 * maxDepth {
		deep = record.ListValue([]record.Field{{Value: deep}})
	}
	hostile := "\x00\x1b[2J\xff"
	events := eventsOf(written(t, event(record.KindOther, 5, func(ev *record.Record) {
		ev.EventName = hostile
		ev.SetFields([]record.Field{{Name: hostile, Value: record.StringValue(hostile)}, {Name: "deep", Value: deep}})
	})))
	assert.Equal(t, "\x00\x1b[2J\uFFFD", events[0].Event.Name)
}
