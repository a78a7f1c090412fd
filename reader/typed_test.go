package reader_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/tracepoint"
)

// formatOf returns the format of a user event with these fields.
func formatOf(d tracepoint.Declaration) tracepoint.Format {
	f := tracepoint.Format{
		Name: d.Name, ID: 1000,
		Common: []tracepoint.FormatField{
			{Name: "common_type", Type: tracepoint.Scalar(tracepoint.UShort), Size: 2},
			{Name: "common_flags", Type: tracepoint.Scalar(tracepoint.UChar), Offset: 2, Size: 1},
			{Name: "common_preempt_count", Type: tracepoint.Scalar(tracepoint.UChar), Offset: 3, Size: 1},
			{Name: "common_pid", Type: tracepoint.Scalar(tracepoint.Int), Offset: 4, Size: 4},
		},
	}
	offset := tracepoint.CommonSize
	for _, field := range d.Fields {
		size := field.Type.FixedSize()
		f.Fields = append(f.Fields, tracepoint.FormatField{Name: field.Name, Type: field.Type, Offset: offset, Size: size})
		offset += size
	}
	return f
}

// rawOf returns a payload in perf's form: after the common fields.
func rawOf(payload []byte) []byte { return append(make([]byte, tracepoint.CommonSize), payload...) }

// everyType has a field of each type that the kernel supports.
var everyType = tracepoint.MustParse("every u8 a; s8 b; u16 c; s16 d; u32 e; s32 f; u64 g; s64 h; u64 i; " +
	"char[4] fixed; __data_loc char[] text; __rel_loc u16[] list; __rel_loc u8[] bytes; struct point p 3; char empty; __data_loc char[] none")

func everyTypePayload(t testing.TB) []byte {
	layout, err := typedfield.NewLayout(everyType)
	require.NoError(t, err)
	at := layout.Offsets()
	buf := layout.Begin(nil)
	buf[at[0]], buf[at[1]] = 255, 0x80
	order := binary.NativeEndian
	order.PutUint16(buf[at[2]:], 0xFFFF)
	order.PutUint16(buf[at[3]:], 0x8000)
	order.PutUint32(buf[at[4]:], 0xFFFFFFFF)
	order.PutUint32(buf[at[5]:], 0x80000000)
	order.PutUint64(buf[at[6]:], 1<<63)
	order.PutUint64(buf[at[7]:], 1<<63)
	order.PutUint64(buf[at[8]:], 1<<63-1)
	copy(buf[at[9]:], "ab\x00c")
	copy(buf[at[13]:], "\x01\x02\x03")
	buf[at[14]] = 'A'
	buf, _ = typedfield.AppendString(buf, 0, at[10], `C:\new`, 100)
	order.PutUint32(buf[at[11]:], 4<<16|uint32(len(buf)-at[11]-4))
	buf = order.AppendUint16(order.AppendUint16(buf, 1), 0xFFFF)
	order.PutUint32(buf[at[12]:], 3<<16|uint32(len(buf)-at[12]-4))
	return append(buf, 7, 0, 9)
}

// TestTypedFieldsOfForeignEvents: an event of another program has all fields of the record, with the same values.
func TestTypedFieldsOfForeignEvents(t *testing.T) {
	raw := rawOf(append(everyTypePayload(t), 0xCC, 0xCC, 0xCC)) // perf pads records
	d, err := reader.NewDecoder("user_events", formatOf(everyType))
	require.NoError(t, err)
	ev := reader.Event{Time: time.Unix(5, 0), Monotonic: 5, CPU: 3, PID: 1, TID: 2, CgroupID: 7, Callchain: []uint64{9}}
	for range 2 { // a used event works like a new one
		require.NoError(t, d.Decode(raw, &ev, reuse))
		assert.Equal(t, "user_events", ev.System)
		assert.Equal(t, "every", ev.Name)
		assert.Equal(t, reader.KindOther, ev.Kind)
		assert.Equal(t, []reader.Field{
			{Name: "a", Value: reader.Int64Value(255)},
			{Name: "b", Value: reader.Int64Value(-128)},
			{Name: "c", Value: reader.Int64Value(0xFFFF)},
			{Name: "d", Value: reader.Int64Value(-0x8000)},
			{Name: "e", Value: reader.Int64Value(0xFFFFFFFF)},
			{Name: "f", Value: reader.Int64Value(-0x80000000)},
			{Name: "g", Value: reader.Uint64Value(1 << 63)},
			{Name: "h", Value: reader.Int64Value(-1 << 63)},
			{Name: "i", Value: reader.Int64Value(1<<63 - 1)},
			{Name: "fixed", Value: reader.StringValue("ab")},
			{Name: "text", Value: reader.StringValue(`C:\\new`)},
			{Name: "list", Value: reader.ListValue([]reader.Field{{Value: reader.Int64Value(1)}, {Value: reader.Int64Value(0xFFFF)}})},
			{Name: "bytes", Value: reader.BytesValue([]byte{7, 0, 9})},
			{Name: "p", Value: reader.BytesValue([]byte{1, 2, 3})},
			{Name: "empty", Value: reader.Int64Value('A')},
			{Name: "none", Value: reader.StringValue("")},
		}, ev.Fields)
		assert.Equal(t, []any{time.Unix(5, 0), uint64(5), 3, int32(1), int32(2), uint64(7), []uint64{9}},
			[]any{ev.Time, ev.Monotonic, ev.CPU, ev.PID, ev.TID, ev.CgroupID, ev.Callchain}, "what the kernel says stays")
	}
}

// TestMalformedTypedRecord: a record that ends early is an error, and leaves no data in the event.
func TestMalformedTypedRecord(t *testing.T) {
	raw := rawOf(everyTypePayload(t))
	d, err := reader.NewDecoder("user_events", formatOf(everyType))
	require.NoError(t, err)
	var ev reader.Event
	for n := range len(raw) {
		require.NoError(t, d.Decode(raw, &ev, reuse))
		require.ErrorIs(t, d.Decode(raw[:n], &ev, reuse), reader.ErrMalformed, "%d bytes", n)
		assert.Equal(t, "every", ev.Name)
		assert.Empty(t, ev.Fields)
	}
}

// TestDecoderOfUnknownType: a format that no kernel writes is refused.
func TestDecoderOfUnknownType(t *testing.T) {
	f := formatOf(everyType)
	f.Fields[0].Type = tracepoint.Type{}
	_, err := reader.NewDecoder("user_events", f)
	require.ErrorIs(t, err, tracepoint.ErrInvalid)
	assert.ErrorContains(t, err, "user_events:every")
}
