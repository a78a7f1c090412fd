package typedfield_test

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

func mustFields[T any](t testing.TB) *typedfield.Fields[T] {
	t.Helper()
	f, err := typedfield.FieldsOf[T]()
	require.NoError(t, err)
	return f
}

// fixedSize returns how many bytes the fields take in the fixed part of a payload.
func fixedSize[T any](f *typedfield.Fields[T]) (size int) {
	for _, field := range f.List() {
		size += field.Type.FixedSize()
	}
	return size
}

func TestFieldsList(t *testing.T) {
	type address struct {
		City string `uevent:"city.name"`
	}
	type event struct {
		Base
		Home   address
		Work   address `uevent:"work.address"`
		Status status  `uevent:"http.status"`
		Größe  float32
		Named  Base `uevent:"base"`
	}
	type row struct {
		name, key string
		kind      typedfield.GoKind
		bits      int
	}
	var got []row
	for _, f := range mustFields[event](t).List() {
		got = append(got, row{f.Name, f.Key, f.Kind, f.Bits})
	}
	assert.Equal(t, []row{
		{"id", "id", typedfield.GoUint, 32},
		{"Host", "Host", typedfield.GoString, 0},
		{"Home_city_name", "Home.city.name", typedfield.GoString, 0},
		{"work_address_city_name", "work.address.city.name", typedfield.GoString, 0},
		{"http_status", "http.status", typedfield.GoUint, 16},
		{"Gru00f6u00dfe", "Größe", typedfield.GoFloat, 32},
		{"base_id", "base.id", typedfield.GoUint, 32},
		{"base_Host", "base.Host", typedfield.GoString, 0},
	}, got)

	list := mustFields[event](t)
	list.List()[0].Key = "changed"
	assert.Equal(t, "id", list.List()[0].Key, "the list is the caller's")
}

// TestFieldsOfEveryType: the kind of each Go type, and the value that another encoding gets.
func TestFieldsOfEveryType(t *testing.T) {
	want := map[string]struct {
		kind  typedfield.GoKind
		bits  int
		value any
	}{
		"bool": {typedfield.GoBool, 0, true},
		"i8":   {typedfield.GoInt, 8, int64(-1)}, "i16": {typedfield.GoInt, 16, int64(-2)}, "i32": {typedfield.GoInt, 32, int64(-3)},
		"i64": {typedfield.GoInt, 64, int64(-4)}, "int": {typedfield.GoInt, 8 * int(reflect.TypeFor[int]().Size()), int64(-5)},
		"u8": {typedfield.GoUint, 8, uint64(6)}, "u16": {typedfield.GoUint, 16, uint64(7)}, "u32": {typedfield.GoUint, 32, uint64(8)},
		"u64": {typedfield.GoUint, 64, uint64(math.MaxUint64)}, "uint": {typedfield.GoUint, 8 * int(reflect.TypeFor[uint]().Size()), uint64(10)},
		"f32": {typedfield.GoFloat, 32, float32(0.1)}, "f64": {typedfield.GoFloat, 64, -1e21},
		"milli32": {typedfield.GoFloat, 32, float32(0.25)}, "milli64": {typedfield.GoFloat, 64, -1.5},
		"took_ns": {typedfield.GoDuration, 0, 1500 * time.Microsecond}, "at_ns": {typedfield.GoTime, 0, time.Unix(1700000000, 5).UTC()},
		"text": {typedfield.GoString, 0, "hello"}, "body": {typedfield.GoString, 0, "a\nb"},
		"addr": {typedfield.GoOther, 0, "2001:db8::1"}, "peer": {typedfield.GoOther, 0, "192.0.2.1:443"},
		"net": {typedfield.GoOther, 0, "10.0.0.0/8"}, "ip": {typedfield.GoOther, 0, "192.0.2.7"},
		"id": {typedfield.GoID, 0, "deadbeef"}, "uuid": {typedfield.GoID, 0, "6b000000-0000-0000-0000-0000000000c8"},
		"bytes": {typedfield.GoOther, 0, "01ff"}, "raw": {typedfield.GoOther, 0, []uint64{0, 10, 200}},
		"s16": {typedfield.GoOther, 0, []int64{-1, 300}}, "a64": {typedfield.GoOther, 0, []uint64{1, math.MaxUint64}},
	}
	f := mustFields[everything](t)
	require.Len(t, f.List(), len(want))
	for i, field := range f.List() {
		w, ok := want[field.Key]
		require.True(t, ok, field.Key)
		assert.Equal(t, w.kind, field.Kind, field.Key)
		assert.Equal(t, w.bits, field.Bits, field.Key)
		assert.Equal(t, strings.HasPrefix(field.Key, "milli"), field.Scale == 1000, field.Key)
		v := sample
		assert.Equal(t, w.value, f.Value(i, &v), field.Key)
	}
}

// TestFieldsValueOfNothing: the zero value of each type has a value of the same Go type.
func TestFieldsValueOfNothing(t *testing.T) {
	f := mustFields[everything](t)
	for i, field := range f.List() {
		assert.IsType(t, f.Value(i, &sample), f.Value(i, &everything{}), field.Key)
	}
}

func TestFieldsValueOfNamedTypes(t *testing.T) {
	type event struct {
		Status status
		Flag   flag
		Name   name
		Wait   seconds
		Codes  []status
	}
	v := event{404, true, "x", 3, []status{1, 2}}
	f := mustFields[event](t)
	var got []any
	for i := range f.List() {
		got = append(got, f.Value(i, &v))
	}
	assert.Equal(t, []any{uint64(404), true, "x", int64(3), []uint64{1, 2}}, got)
}

func TestFieldsOfRefuses(t *testing.T) {
	_, err := typedfield.FieldsOf[struct {
		A    string
		Base struct{ Left typed.Truncated }
	}]()
	require.ErrorIs(t, err, tracepoint.ErrInvalid)
	require.ErrorContains(t, err, "field Base.Left: only a Plan fills in a Truncated")
	_, err = typedfield.FieldsOf[struct{ P *int }]()
	require.ErrorIs(t, err, tracepoint.ErrInvalid)
	require.ErrorContains(t, err, "field P: *int is not supported: use the value")
	_, err = typedfield.FieldsOf[int]()
	require.ErrorContains(t, err, "event fields from int: ")
	_, err = typedfield.FieldsOf[struct{ S [2030]byte }]()
	require.ErrorContains(t, err, "numbers and byte arrays take 4065 bytes")
}

// plainFields has a field of each kind that Plain returns, at the ends of its range, and one that it does not.
type plainFields struct {
	B   bool
	I8  int8
	I16 int16
	I32 int32
	I64 int64
	I   int
	U8  uint8
	U16 uint16
	U32 uint32
	U64 uint64
	U   uint
	F   float64
	X   float64 `uevent:"x,scale=1000"`
	S   string
	D   time.Duration
	T   time.Time
}

// TestPlainLikeValue: Plain returns what Value returns, and does not allocate.
func TestPlainLikeValue(t *testing.T) {
	fields, err := typedfield.FieldsOf[plainFields]()
	require.NoError(t, err)
	v := plainFields{
		true, math.MinInt8, math.MinInt16, math.MinInt32, math.MinInt64, math.MinInt,
		math.MaxUint8, math.MaxUint16, math.MaxUint32, math.MaxUint64, math.MaxUint, -0.5, 2.5, "text\n", -time.Hour, time.Unix(1, 2),
	}
	for i, f := range fields.List() {
		num, text, ok := fields.Plain(i, &v)
		require.Equal(t, f.Kind != typedfield.GoTime, ok, f.Key)
		var got any
		switch f.Kind {
		case typedfield.GoTime:
			continue
		case typedfield.GoString:
			got = text
		case typedfield.GoBool:
			got = num != 0
		case typedfield.GoInt:
			got = int64(num)
		case typedfield.GoDuration:
			got = time.Duration(num)
		case typedfield.GoFloat:
			got = math.Float64frombits(num)
		default:
			got = num
		}
		assert.Equal(t, fields.Value(i, &v), got, f.Key)
		assert.EqualValues(t, reflect.ValueOf(v).Field(i).Interface(), got, f.Key)
	}
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		local := plainFields{S: "on the stack"}
		for i := range fields.List() {
			fields.Plain(i, &local)
		}
	})-testing.AllocsPerRun(100, func() { fields.List() }))
}

func TestFieldName(t *testing.T) {
	tests := []struct{ in, want string }{
		{"status", "status"},
		{"Status_2", "Status_2"},
		{"_private", "_private"},
		{"http.request.method", "http_request_method"},
		{"http.response.status_code", "http_response_status_code"},
		{"user-agent", "user_agent"},
		{"user agent", "user_agent"},
		{"a/b:c=d;e", "a_b_c_d_e"},
		{"a\nb\x00c", "a_b_c"},
		{"größe", "gru00f6u00dfe"},
		{"名前", "u540du524d"},
		{"🙂", "u1f642"},
		{"\x7f\u0080", "_u0080"},
		{"azAZ09.", "azAZ09_"},
		{"9", "_9"},
		{strings.Repeat("x", 63) + ".", strings.Repeat("x", 63) + "_"},
		{"a\xffb", "aufffdb"},
		{"", "_"},
		{"2xx", "_2xx"},
		{".2xx", "_2xx"},
		{"common_pid", "_common_pid"},
		{"common.pid", "_common_pid"},
		{"common", "common"},
		{strings.Repeat("x", 64), strings.Repeat("x", 64)},
		{strings.Repeat("x", 65), strings.Repeat("x", 55) + "_b42b1787"},
		{strings.Repeat("x", 66), strings.Repeat("x", 55) + "_9ed6c66d"},
		{strings.Repeat("名", 20), strings.Repeat("u540d", 11) + "_3cb232b5"},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, typed.FieldName(tt.in), "%q", tt.in)
	}
}

// FuzzFieldName: the result is the name of a field, within its length, and stays what it is.
func FuzzFieldName(f *testing.F) {
	for _, name := range []string{"a.b", "", "_", "\xff", "größe", "common_", "0", strings.Repeat("x", 65)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		field := typed.FieldName(name)
		d := tracepoint.Declaration{Name: "event", Fields: []tracepoint.Field{{Name: field, Type: tracepoint.Scalar(tracepoint.U8)}}}
		require.NoError(t, d.Validate())
		require.LessOrEqual(t, len(field), typed.MaxFieldName)
		require.Equal(t, field, typed.FieldName(field))
	})
}
