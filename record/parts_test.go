package record

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/tracepoint"
)

// TestCopies: a copy has the process and the time of a record that was passed before, whatever came between and on whatever thread.
func TestCopies(t *testing.T) {
	at, later := time.Unix(1, 0), time.Unix(2, 0)
	original := func(pid int32, at time.Time) *Record {
		return &Record{Kind: KindLog, PID: pid, TID: 1, Timestamp: at}
	}
	duplicate := func(pid int32, at time.Time) *Record {
		return &Record{Kind: KindLog, PID: pid, TID: 2, Timestamp: at, Duplicate: true, leveled: true}
	}
	var c Copies
	assert.False(t, c.IsCopy(original(1, at)))
	assert.False(t, c.IsCopy(original(2, later)))
	assert.False(t, c.IsCopy(original(2, later)), "at the same time")
	assert.False(t, c.IsCopy(&Record{Kind: KindSpan, PID: 1, Timestamp: later}), "a span is none")
	for i := range maxOriginals - 3 {
		assert.False(t, c.IsCopy(original(3, time.Unix(int64(i), 0))))
	}
	assert.True(t, c.IsCopy(duplicate(1, at)))
	assert.True(t, c.IsCopy(duplicate(2, later)))
	assert.True(t, c.IsCopy(duplicate(2, later)))
	assert.False(t, c.IsCopy(duplicate(2, later)), "without an original")
	assert.False(t, c.IsCopy(duplicate(1, later)), "of another time")
	// What has no copy, such as where that was lost, is forgotten.
	for i := range 3 * maxOriginals {
		assert.False(t, c.IsCopy(original(4, time.Unix(int64(i), 0))))
	}
	assert.False(t, c.IsCopy(duplicate(3, time.Unix(5, 0))))
	assert.Len(t, c.originals, maxOriginals)
	assert.True(t, c.IsCopy(duplicate(4, time.Unix(3*maxOriginals-1, 0))))
}

// TestHeaderByItsFields: the first field tells whether an event is of EventHeader, not the name alone.
func TestHeaderByItsFields(t *testing.T) {
	number := tracepoint.FormatField{Name: "n", Type: tracepoint.Scalar(tracepoint.U32), Offset: 8, Size: 4}
	for _, fields := range [][]tracepoint.FormatField{nil, {number}} {
		d, err := NewDecoder(tracepoint.System, tracepoint.Format{Name: "myapp_L4K1", Fields: fields})
		require.NoError(t, err)
		assert.False(t, d.isHeader)
	}
}

// TestJSONSiblings: only lists and maps in each other are nested; and control characters are no white space.
func TestJSONSiblings(t *testing.T) {
	for _, one := range []string{"[]", "[1]", "{}", `{"a":1}`, `{"":1}`} {
		_, ok := ParseJSON("[" + strings.Repeat(one+",", 2*maxDepth) + one + "]")
		assert.True(t, ok, one)
	}
	for _, c := range []string{"\x00", "\x01", "\x0b", "\x1f"} {
		for _, text := range []string{c + "1", "[" + c + "1]", "1" + c} {
			_, ok := ParseJSON(text)
			assert.False(t, ok, "%q", text)
		}
	}
}

func TestQuantilesOfCutLists(t *testing.T) {
	for text, want := range map[string][]Quantile{
		"0.5=1,0.9=2": {{0.5, 1}, {0.9, 2}}, "0.5=1,0.9=": {{0.5, 1}}, "0.5=1,=2": {{0.5, 1}}, "0.5=,0.9=2": nil, "x": nil,
	} {
		assert.Equal(t, want, appendElements(nil, text, quantileText), text)
	}
}

// TestPartsWithUnexpectedTypes: a field with a name of the Common Schema and a type of another one is an ordinary field.
func TestPartsWithUnexpectedTypes(t *testing.T) {
	text, number := StringValue("text"), Int64Value(7)
	sub := MapValue([]Field{{"a", number}})
	var rec Record
	rec.setPartA([]Field{{"ext_dt", text}, {"other", sub}, {"ext_ex", sub}, {"ext_cloud", sub}})
	assert.Equal(t, []Field{{"ext_dt", text}, {"other", sub}, {"ext_ex_a", number}, {"ext_cloud_a", number}}, rec.Resource)

	rec = Record{Kind: KindSpan}
	rec.setPartB([]Field{
		{"unknown", number}, {"dbName", text}, {"success", text}, {"kind", text}, {"kind", Int64Value(int64(SpanKindConsumer))}, {"traceState", number}, {"wrong", BoolValue(false)},
	})
	assert.Equal(t, []Field{
		{"unknown", number}, {"db.namespace", text}, {"success", text}, {"kind", text}, {"kind", Int64Value(int64(SpanKindConsumer))}, {"traceState", number}, {"wrong", BoolValue(false)},
	}, rec.Fields())
	assert.Zero(t, rec.Status)
	assert.Zero(t, rec.SpanKind)
	rec.setPartB([]Field{{"traceState", text}, {"kind", Int64Value(int64(SpanKindConsumer) - 1)}, {"success", BoolValue(false)}})
	assert.Equal(t, "text", rec.TraceState)
	assert.Equal(t, SpanKindConsumer, rec.SpanKind)
	assert.Equal(t, StatusError, rec.Status)

	rec = Record{Kind: KindLog}
	rec.setPartB([]Field{{"dbName", text}})
	assert.Equal(t, []Field{{"dbName", text}}, rec.Fields(), "a name of spans only")
}

// TestLinksWithOneTrace: a link is that of part B if both ids are the same.
func TestLinksWithOneTrace(t *testing.T) {
	var rec Record
	listed := []NestedLink{{TraceID: [16]byte{1}, SpanID: [8]byte{1}}, {TraceID: [16]byte{1}, SpanID: [8]byte{2}}}
	rest := rec.addLink(NestedLink{TraceID: [16]byte{1}, SpanID: [8]byte{2}, TraceFlags: 1}, listed)
	assert.Empty(t, rest)
	assert.Equal(t, []NestedLink{{TraceID: [16]byte{1}, SpanID: [8]byte{1}}, {TraceID: [16]byte{1}, SpanID: [8]byte{2}, TraceFlags: 1}}, listed)
	rec.addLink(NestedLink{TraceID: [16]byte{1}, SpanID: [8]byte{3}}, listed)
	assert.Len(t, rec.NestedLinks, 1)
}

// TestDurationNeedsBothTimes: a span without a start or without an end has no duration.
func TestDurationNeedsBothTimes(t *testing.T) {
	for _, tt := range []struct {
		start, end time.Time
		want       time.Duration
	}{{time.Unix(1, 0), time.Unix(2, 0), time.Second}, {time.Time{}, time.Unix(2, 0), 0}, {time.Unix(1, 0), time.Time{}, 0}} {
		rec := Record{Timestamp: tt.start}
		rec.endSpan(tt.end)
		assert.Equal(t, tt.want, rec.Duration)
	}
}

// TestMostNamesOfMembers: the elements of an array of structs share their names in a record, but not in an event. An event whose members have
// exactly as many bytes of names as allowed is whole, a larger one is refused.
func TestMostNamesOfMembers(t *testing.T) {
	const name = 64
	u8 := tracepoint.Scalar(tracepoint.U8)
	d, err := NewDecoder(tracepoint.System, tracepoint.Format{Name: "p_L4K1", Fields: []tracepoint.FormatField{{Name: "eventheader_flags", Type: u8, Offset: 8, Size: 1}}})
	require.NoError(t, err)
	for _, n := range []uint16{maxNames / name, maxNames/name + 1} {
		const variable, chain, structure, value8 = 0x40, 0x80, 1, 2
		meta := "e\x00s\x00" + string([]byte{structure | variable | chain, 1}) +
			strings.Repeat("n", name) + "\x00" + string([]byte{value8}) + "after\x00" + string([]byte{value8})
		raw := make([]byte, tracepoint.CommonSize)
		raw = append(raw, 0x07, 0, 0, 0, 0, 0, 0, byte(eventheader.LevelInfo)) // little-endian
		raw = binary.LittleEndian.AppendUint16(raw, uint16(len(meta)))
		raw = append(binary.LittleEndian.AppendUint16(raw, 1), meta...)
		raw = append(binary.LittleEndian.AppendUint16(raw, n), make([]byte, int(n)+1)...)
		var rec Record
		for _, d := range []*Decoder{d, d.Plain()} {
			err := d.Decode(raw, &rec)
			if n > maxNames/name {
				require.ErrorIs(t, err, ErrMalformed)
				require.ErrorContains(t, err, "the names of the members")
				continue
			}
			require.NoError(t, err)
			require.Len(t, rec.Fields(), 2)
			assert.Len(t, rec.Fields()[0].Value.Fields(), int(n))
			assert.Equal(t, "after", rec.Fields()[1].Name)
		}
	}
}

// TestNamesWithAPoint: only in the names of events of several formats, what follows the last point is the kernel's.
func TestNamesWithAPoint(t *testing.T) {
	f := tracepoint.Format{Name: "a.1", Fields: []tracepoint.FormatField{{Name: "n", Type: tracepoint.Scalar(tracepoint.U32), Offset: 8, Size: 4}}}
	for system, want := range map[string]string{tracepoint.System: "a.1", tracepoint.MultiSystem: "a"} {
		d, err := NewDecoder(system, f)
		require.NoError(t, err)
		assert.Equal(t, want, d.registered)
	}
}
