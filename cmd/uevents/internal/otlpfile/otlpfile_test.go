package otlpfile

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/userevents/userevents-go/record"
)

// files are the files of a Writer, by signal.
type files map[string]*bytes.Buffer

func (f files) open(signal string) (io.Writer, error) {
	f[signal] = new(bytes.Buffer)
	return f[signal], nil
}

// lines returns the lines of a file, each of which must be short enough for readers.
func (f files) lines(t *testing.T, signal string) (lines []string) {
	t.Helper()
	if f[signal] == nil {
		return nil
	}
	for line := range strings.Lines(f[signal].String()) {
		require.True(t, strings.HasSuffix(line, "\n"))
		require.Less(t, len(line), maxLine)
		lines = append(lines, line)
	}
	return lines
}

// count reads the files like the Collector's receiver, each line by itself, and returns their number of records.
func (f files) count(t *testing.T) (logs, spans, points int) {
	t.Helper()
	for _, line := range f.lines(t, Logs) {
		data, err := (&plog.JSONUnmarshaler{DisallowUnknownFields: true}).UnmarshalLogs([]byte(line))
		require.NoError(t, err)
		require.Positive(t, data.LogRecordCount())
		logs += data.LogRecordCount()
	}
	for _, line := range f.lines(t, Traces) {
		data, err := (&ptrace.JSONUnmarshaler{DisallowUnknownFields: true}).UnmarshalTraces([]byte(line))
		require.NoError(t, err)
		spans += data.SpanCount()
	}
	for _, line := range f.lines(t, Metrics) {
		data, err := (&pmetric.JSONUnmarshaler{DisallowUnknownFields: true}).UnmarshalMetrics([]byte(line))
		require.NoError(t, err)
		points += data.DataPointCount()
	}
	return logs, spans, points
}

func event(kind record.Kind, i int) *record.Record {
	ev := &record.Record{
		Kind: kind, Time: time.Unix(1700000000, int64(i)), Monotonic: 1e9 + uint64(i), PID: 812, Name: "myapp_x",
		TraceID: [16]byte{1}, SpanID: [8]byte{byte(i), byte(i >> 8), 1},
	}
	if kind == record.KindMetric {
		ev.Message, ev.Point = "requests", &record.Point{Type: record.PointGauge, Value: record.Int64Value(int64(i))}
	}
	return ev
}

func TestWriter(t *testing.T) {
	f := files{}
	w := NewWriter(f.open)
	const n = 5000
	for i := range n {
		for _, kind := range []record.Kind{record.KindLog, record.KindSpan, record.KindMetric, record.KindSpanEvent} {
			ev := event(kind, i)
			ev.SetFields([]record.Field{{Name: "text", Value: record.StringValue(strings.Repeat("x", i%500))}})
			require.NoError(t, w.Write(ev))
		}
	}
	require.NoError(t, w.Lost("user_events:myapp_x", 1, time.Now()))
	require.NoError(t, w.Close())
	logs, spans, points := f.count(t)
	assert.Equal(t, []int{2 * n, n, n}, []int{logs, spans, points}, "and events that come after their spans")
	assert.Equal(t, uint64(n), w.Stats().OrphanEvents)
	assert.Greater(t, len(f.lines(t, Logs)), 5)
	assert.Less(t, len(f.lines(t, Logs)), n/50)
}

// A file is created with its first data.
func TestFilesOfSignals(t *testing.T) {
	f := files{}
	w := NewWriter(f.open)
	require.NoError(t, w.Close())
	assert.Empty(t, f)
	require.NoError(t, w.Write(event(record.KindLog, 1)))
	require.NoError(t, w.Close())
	assert.Len(t, f, 1)
}

// A reader that follows the file is at most a second behind.
func TestBatchTime(t *testing.T) {
	f := files{}
	w := NewWriter(f.open)
	for _, at := range []uint64{0, 1, batchTime + 1} {
		ev := event(record.KindLog, 1)
		ev.Monotonic = 1e12 + at
		require.NoError(t, w.Write(ev))
	}
	logs, _, _ := f.count(t)
	assert.Equal(t, 2, logs, "the last one begins a batch")
	require.NoError(t, w.Close())
	logs, _, _ = f.count(t)
	assert.Equal(t, 3, logs)
}

// Records that come late do not end a batch.
func TestBatchOfLateRecords(t *testing.T) {
	f := files{}
	w := NewWriter(f.open)
	for i := range 100 {
		ev := event(record.KindLog, 1)
		ev.Monotonic = 1e12 + uint64(i) ^ 1
		require.NoError(t, w.Write(ev))
	}
	require.NoError(t, w.Close())
	assert.Len(t, f.lines(t, Logs), 1)
}

// Exemplars are in one batch with their points, however many bytes and how much time went before.
func TestExemplars(t *testing.T) {
	f := files{}
	w := NewWriter(f.open)
	const n = 2000
	for i := range n {
		for j, kind := range []record.PointType{record.PointGauge, record.PointExemplar, record.PointExemplar} {
			ev := event(record.KindMetric, i)
			ev.Monotonic = 1e12 + uint64(i)*(batchTime/100)
			if i > n/2 {
				ev.Monotonic += uint64(i) * 2 * batchTime // a pause before each point
			}
			ev.Point = &record.Point{Type: kind, Value: record.Int64Value(int64(j))}
			ev.SetFields([]record.Field{{Name: "text", Value: record.StringValue(strings.Repeat("x", i))}})
			require.NoError(t, w.Write(ev))
		}
	}
	assert.Zero(t, w.Stats().OrphanExemplars)
	// Exemplars without end do not stay in memory.
	for range 20_000 {
		ev := event(record.KindMetric, n-1)
		ev.Monotonic = 1e12
		ev.Point = &record.Point{Type: record.PointExemplar, Value: record.Int64Value(1)}
		ev.SetFields([]record.Field{{Name: "text", Value: record.StringValue(strings.Repeat("x", n-1))}})
		require.NoError(t, w.Write(ev))
		require.Less(t, w.c.Pending().Bytes, 3*batchSize)
	}
	require.NoError(t, w.Close())
	_, _, points := f.count(t)
	assert.Equal(t, n, points)
}

// Lines are short enough whatever programs write, and one record that is too long costs no others.
func TestLongRecords(t *testing.T) {
	f := files{}
	w := NewWriter(f.open)
	list := make([]record.Field, 60_000)
	for i := range list {
		list[i].Value = record.ListValue(nil)
	}
	for _, v := range []record.Value{
		record.StringValue(strings.Repeat("\x01", 100_000)), record.StringValue(strings.Repeat("\"", 60_000)), record.ListValue(list[:20_000]),
		record.ListValue(list), // more than a record can have
	} {
		for _, kind := range []record.Kind{record.KindLog, record.KindSpan} {
			require.NoError(t, w.Write(event(kind, 1)))
			ev := event(kind, 2)
			ev.SetFields([]record.Field{{Name: "v", Value: v}})
			require.NoError(t, w.Write(ev))
		}
	}
	// Requests with many resources become much longer.
	many := pmetric.NewMetrics()
	for range 20_000 {
		many.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty()
	}
	request, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(many)
	require.NoError(t, err)
	ev := event(record.KindMetric, 1)
	ev.Point = &record.Point{Type: record.PointOTLP, Request: request}
	require.NoError(t, w.Write(ev))
	require.NoError(t, w.Close())
	logs, spans, points := f.count(t)
	assert.Equal(t, []int{7, 7, 20_000}, []int{logs, spans, points})
	assert.EqualValues(t, 2, w.Stats().TooLong)
	assert.EqualValues(t, 0, w.Stats().Malformed)
}

// Requests without data points do not stay in memory.
func TestRequestsWithoutPoints(t *testing.T) {
	f := files{}
	w := NewWriter(f.open)
	empty := pmetric.NewMetrics()
	empty.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty().SetEmptyGauge()
	request, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(empty)
	require.NoError(t, err)
	for range 10_000 {
		ev := event(record.KindMetric, 1)
		ev.Point = &record.Point{Type: record.PointOTLP, Request: request}
		require.NoError(t, w.Write(ev))
		require.LessOrEqual(t, w.c.Pending().Bytes, batchSize+10_000, "and the last request")
	}
	require.NoError(t, w.Close())
	assert.Empty(t, f)
}

// A request that is split keeps what it says beside its metrics.
func TestSplitKeepsSchemas(t *testing.T) {
	f := files{}
	w := NewWriter(f.open)
	data := pmetric.NewMetrics()
	r := data.ResourceMetrics().AppendEmpty()
	r.SetSchemaUrl("https://example.com/resource")
	s := r.ScopeMetrics().AppendEmpty()
	s.SetSchemaUrl("https://example.com/scope")
	for range 40_000 {
		s.Metrics().AppendEmpty().SetEmptyGauge().DataPoints().AppendEmpty()
	}
	request, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(data)
	require.NoError(t, err)
	ev := event(record.KindMetric, 1)
	ev.Point = &record.Point{Type: record.PointOTLP, Request: request}
	require.NoError(t, w.Write(ev))
	require.NoError(t, w.Close())
	lines := f.lines(t, Metrics)
	require.Greater(t, len(lines), 1)
	for _, line := range lines {
		assert.Contains(t, line, `"schemaUrl":"https://example.com/resource"`)
		assert.Contains(t, line, `"schemaUrl":"https://example.com/scope"`)
	}
}

func TestErrors(t *testing.T) {
	w := NewWriter(func(string) (io.Writer, error) { return nil, assert.AnError })
	require.NoError(t, w.Write(event(record.KindLog, 1)))
	require.ErrorIs(t, w.Close(), assert.AnError)

	for _, kind := range []record.Kind{record.KindLog, record.KindSpan, record.KindMetric} {
		w = NewWriter(func(string) (io.Writer, error) { return failing{}, nil })
		require.NoError(t, w.Write(event(kind, 1)))
		require.ErrorIs(t, w.Close(), assert.AnError)
	}
	ev := event(record.KindMetric, 1)
	ev.Point = &record.Point{Type: record.PointOTLP, Request: []byte{1, 2, 3}}
	require.NoError(t, w.Write(ev))
	assert.EqualValues(t, 1, w.Stats().Malformed)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, assert.AnError }
