package declared

import (
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// everyType has a field of each type, in their order.
type everyType struct {
	String   string
	Bool     bool
	Int32    int32
	Int64    int64
	Uint8    uint8
	Uint16   uint16
	Uint32   uint32
	Uint64   uint64
	Float64  float64
	Duration time.Duration
	Time     time.Time
}

// The fields of everyType, by their numbers.
const (
	String = iota
	Bool
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float64
	Duration
	Time
	types
)

// layout returns the fields of the struct type T as those of an event.
func layout[T any](t testing.TB) (*payload.Schema, []Field) {
	t.Helper()
	p := ueventstest.New(t, nil).Provider()
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	d, _ := New[T]("e", "", []slog.Level(nil))
	require.NoError(t, d.check())
	schema, fields, err := d.Layout(eventset.Open("test", "app", eventset.Options{Provider: p}), "e", []payload.Field{payload.Truncated}, []payload.Field{payload.Attributes})
	require.NoError(t, err)
	return schema, fields
}

func TestNames(t *testing.T) {
	for _, c := range []struct{ selector, asked, want string }{
		{"http.request", "", "http_request"},
		{"http.request", "request", "request"},
	} {
		d, fields := New[everyType](c.selector, c.asked, []slog.Level(nil))
		assert.Equal(t, c.want, d.Name)
		assert.Equal(t, fields.List(), d.Fields)
	}
	_, fields := layout[struct {
		Method  string        `uevent:"http.request.method"`
		Latency time.Duration `uevent:"latency_ns"`
		Wait    time.Duration `uevent:"wait"`
		Expires time.Time     `uevent:"expires_unix_nano"`
		Unit    time.Duration `uevent:"_ns"`
		Count   int           `uevent:"count_ns"`
	}](t)
	var got [][]string
	for _, f := range fields {
		got = append(got, append([]string{f.Name}, f.Keys()...))
	}
	assert.Equal(t, [][]string{
		{"http_request_method", "http.request.method"},
		{"latency_ns", "latency", "latency_ns"},
		{"wait", "wait"},
		{"expires_unix_nano", "expires", "expires_unix_nano"},
		{"_ns", "_ns"},
		{"count_ns", "count_ns"},
	}, got)
}

// TestTypes: a field has the type of the struct's, and those that no attribute can have are fields of the event alone.
func TestTypes(t *testing.T) {
	_, fields := layout[everyType](t)
	var kinds []typedfield.GoKind
	for _, f := range fields {
		kinds = append(kinds, f.Kind)
	}
	assert.Equal(t, []typedfield.GoKind{
		typedfield.GoString, typedfield.GoBool, typedfield.GoInt, typedfield.GoInt, typedfield.GoUint, typedfield.GoUint, typedfield.GoUint, typedfield.GoUint,
		typedfield.GoFloat, typedfield.GoDuration, typedfield.GoTime,
	}, kinds)
	schema, fields := layout[struct {
		ID    [16]byte
		List  []uint32
		Addr  netip.Addr
		Int8  int8
		Int16 int16
		Milli float64 `uevent:",scale=1000"`
	}](t)
	assert.Len(t, schema.Declaration("e").Fields, 8)
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	assert.Equal(t, []string{"Addr", "Int8", "Int16", "Milli"}, names)
	for i, c := range []struct {
		v    slog.Value
		want any
	}{
		{slog.Int64Value(127), int64(127)},
		{slog.Int64Value(128), refused},
		{slog.Int64Value(-128), int64(-128)},
		{slog.Int64Value(-129), refused},
	} {
		num, _, ok := fields[1].Convert(c.v)
		if got := any(int64(num)); ok {
			assert.Equal(t, c.want, got, i)
		} else {
			assert.Equal(t, c.want, refused, i)
		}
	}
	for _, c := range []struct {
		v    slog.Value
		want any
	}{
		{slog.Float64Value(1.5), uint64(1500)},
		{slog.Float64Value(1e300), refused},
		{slog.Int64Value(1), refused},
		{slog.StringValue("1.5"), refused},
	} {
		num, _, ok := fields[3].Convert(c.v)
		if got := any(num); ok {
			assert.Equal(t, c.want, got)
		} else {
			assert.Equal(t, c.want, refused)
		}
	}
}

// refused stands for a value that cannot be converted.
const refused = "refused"

// field converts a value and returns what a decoder reads from the field.
func field(t *testing.T, schema *payload.Schema, f *Field, v slog.Value) string {
	num, text, ok := f.Convert(v)
	if !ok {
		return refused
	}
	var b payload.Builder
	b.Begin(schema, nil, 1000)
	f.Put(&b, num, text)
	buf, cut := b.End()
	require.Zero(t, cut)
	r := recordtest.Decode(t, schema.Declaration("e"), buf[payload.Base:])
	got, ok := r.Lookup(f.Name)
	require.True(t, ok)
	return string(got.AppendTo(nil))
}

func TestConvert(t *testing.T) {
	schema, fields := layout[everyType](t)
	for _, c := range []struct {
		name string
		v    slog.Value
		want map[int]string // of types that take the value
	}{
		{"nothing", slog.Value{}, nil},
		{"a group", slog.GroupValue(slog.Int("a", 1)), nil},
		{"true", slog.BoolValue(true), map[int]string{String: "true", Bool: "1", Int32: "1", Int64: "1", Uint8: "1", Uint16: "1", Uint32: "1", Uint64: "1", Duration: "1"}},
		{"7", slog.Int64Value(7), map[int]string{String: "7", Int32: "7", Int64: "7", Uint8: "7", Uint16: "7", Uint32: "7", Uint64: "7", Float64: "7", Duration: "7", Time: "7"}},
		{"-1", slog.Int64Value(-1), map[int]string{String: "-1", Int32: "-1", Int64: "-1", Float64: "-1", Duration: "-1"}},
		{"256", slog.Int64Value(256), map[int]string{String: "256", Int32: "256", Int64: "256", Uint16: "256", Uint32: "256", Uint64: "256", Float64: "256", Duration: "256", Time: "256"}},
		{"65536", slog.Int64Value(65536), map[int]string{String: "65536", Int32: "65536", Int64: "65536", Uint32: "65536", Uint64: "65536", Float64: "65536", Duration: "65536", Time: "65536"}},
		{"2^31", slog.Int64Value(1 << 31), map[int]string{String: "2147483648", Int64: "2147483648", Uint32: "2147483648", Uint64: "2147483648", Float64: "2147483648", Duration: "2147483648", Time: "2147483648"}},
		{"2^53+1", slog.Int64Value(1<<53 + 1), map[int]string{String: "9007199254740993", Int64: "9007199254740993", Uint64: "9007199254740993", Duration: "9007199254740993", Time: "9007199254740993"}},
		{"max", slog.Int64Value(math.MaxInt64), map[int]string{String: "9223372036854775807", Int64: "9223372036854775807", Uint64: "9223372036854775807", Duration: "9223372036854775807", Time: "9223372036854775807"}},
		{"0.5", slog.Float64Value(0.5), map[int]string{String: "0.5", Float64: "0.5"}},
		{"2.0", slog.Float64Value(2), map[int]string{String: "2", Int32: "2", Int64: "2", Uint8: "2", Uint16: "2", Uint32: "2", Uint64: "2", Float64: "2", Duration: "2"}},
		{"-2.0", slog.Float64Value(-2), map[int]string{String: "-2", Int32: "-2", Int64: "-2", Float64: "-2", Duration: "-2"}},
		{"1e300", slog.Float64Value(1e300), map[int]string{String: "1e+300", Float64: "1e+300"}},
		{"NaN", slog.Float64Value(math.NaN()), map[int]string{String: "NaN", Float64: "NaN"}},
		{"text", slog.StringValue("GET"), map[int]string{String: "GET"}},
		{"text true", slog.StringValue("true"), map[int]string{String: "true", Bool: "1"}},
		{"text false", slog.StringValue("false"), map[int]string{String: "false", Bool: "0"}},
		{"text 8", slog.StringValue("8"), map[int]string{String: "8", Int32: "8", Int64: "8", Uint8: "8", Uint16: "8", Uint32: "8", Uint64: "8", Float64: "8", Duration: "8"}},
		{"text 08", slog.StringValue("08"), map[int]string{String: "08"}},
		{"text 2^64-1", slog.StringValue("18446744073709551615"), map[int]string{String: "18446744073709551615", Uint64: "18446744073709551615"}},
		{"text 0.25", slog.StringValue("0.25"), map[int]string{String: "0.25", Float64: "0.25"}},
		{"text 1.5s", slog.StringValue("1.5s"), map[int]string{String: "1.5s", Duration: "1500000000"}},
		{"text 90s", slog.StringValue("90s"), map[int]string{String: "90s"}},
		{"empty text", slog.StringValue(""), map[int]string{String: ""}},
	} {
		for typ := range types {
			want, ok := c.want[typ]
			if !ok {
				want = refused
			}
			assert.Equal(t, want, field(t, schema, &fields[typ], c.v), "%s as type %d", c.name, typ)
		}
	}
}

// TestConvertAtTheEnds: a type takes the numbers at the ends of its range, and not the next ones, whatever kind of value has them.
func TestConvertAtTheEnds(t *testing.T) {
	schema, fields := layout[everyType](t)
	for typ := Bool; typ < types; typ++ {
		if typ == Float64 {
			continue
		}
		least, most := fields[typ].Min, fields[typ].most
		convert := func(want bool, v slog.Value) {
			t.Helper()
			got := field(t, schema, &fields[typ], v)
			assert.Equal(t, want, got != refused, "%s as type %d: %s", got, typ, fmt.Sprint(v))
		}
		convert(true, slog.Int64Value(least))
		convert(true, slog.Int64Value(0))
		if least > math.MinInt64 {
			convert(false, slog.Int64Value(least-1))
		}
		if most <= math.MaxInt64 {
			convert(true, slog.Int64Value(int64(most)))
		}
		convert(true, slog.Uint64Value(most))
		if most < math.MaxUint64 {
			convert(false, slog.Uint64Value(most+1))
		}
		if typ == Time {
			convert(false, slog.Float64Value(0))
			continue
		}
		convert(true, slog.Float64Value(0))
		convert(true, slog.Float64Value(float64(least)))
		convert(false, slog.Float64Value(math.Nextafter(float64(least), math.Inf(-1))))
		convert(false, slog.Float64Value(float64(most)+1)) // 1<<63 and 1<<64, rounded
		if most < 1<<53 {
			convert(true, slog.Float64Value(float64(most)))
		}
	}
}

// TestConvertUnsignedToFloat: an integer becomes a floating-point number if that has its value.
func TestConvertUnsignedToFloat(t *testing.T) {
	schema, fields := layout[everyType](t)
	float := &fields[Float64]
	for _, v := range []uint64{0, 7, 1 << 53, 1<<53 + 1, 1 << 63, 1<<63 + 1, math.MaxUint64 - 2047, math.MaxUint64} {
		want := refused
		if exact := new(big.Int); new(big.Float).SetUint64(v).IsInt() {
			new(big.Float).SetFloat64(float64(v)).Int(exact)
			if exact.Cmp(new(big.Int).SetUint64(v)) == 0 {
				want = strconv.FormatFloat(float64(v), 'f', -1, 64)
			}
		}
		assert.Equal(t, want, field(t, schema, float, slog.Uint64Value(v)), v)
		if v <= math.MaxInt64 {
			assert.Equal(t, want, field(t, schema, float, slog.Int64Value(int64(v))), v)
		}
	}
	assert.Equal(t, refused, field(t, schema, float, slog.Int64Value(math.MaxInt64)))
	assert.NotEqual(t, refused, field(t, schema, float, slog.Int64Value(math.MinInt64)))
}

// TestConvertTime: a time is a number if nanoseconds since 1970 tell it, and a text whatever it is.
func TestConvertTime(t *testing.T) {
	_, fields := layout[everyType](t)
	for _, tt := range []struct {
		at   time.Time
		want string
	}{
		{time.Unix(1_700_000_000, 123_456_789), "1700000000123456789"},
		{time.Unix(0, 0), "0"},
		{time.Unix(10_000_000_000, 1), "10000000000000000001"}, // beyond the range of time.Time.UnixNano
		{time.Unix(-1, 0), refused},
		{time.Time{}, refused},
		{time.Unix(20_000_000_000, 0), refused},
	} {
		num, text, ok := fields[Time].Convert(slog.TimeValue(tt.at))
		assert.Empty(t, text)
		got := refused
		if ok {
			got = strconv.FormatUint(num, 10)
		}
		assert.Equal(t, tt.want, got, tt.at)
		_, text, ok = fields[String].Convert(slog.TimeValue(tt.at))
		assert.True(t, ok)
		back, err := time.Parse(time.RFC3339Nano, text)
		require.NoError(t, err)
		assert.True(t, back.Equal(tt.at))
	}
	for _, typ := range []int{Bool, Int64, Duration, Float64} {
		_, _, ok := fields[typ].Convert(slog.TimeValue(time.Unix(1, 0)))
		assert.False(t, ok, typ)
	}
}

// TestLongestFloat: a field for a floating-point number declares room for the longest one.
func TestLongestFloat(t *testing.T) {
	d, _ := New[everyType]("e", "", []slog.Level(nil))
	longest := text.AppendFloat(nil, -1.2345678901234567e-6, 64)
	assert.Equal(t, len(longest)+1, payloadField(d.Fields[Float64]).Size)
}

// FuzzConvert: what a field takes can be told from what it holds: converting the field's own text gives the
// same field again.
func FuzzConvert(f *testing.F) {
	for _, s := range []string{"", "1", "-1", "1.5s", "true", "1e+21", "18446744073709551615"} {
		f.Add(uint8(Int64), s)
		f.Add(uint8(Duration), s)
	}
	_, fields := layout[everyType](f)
	f.Fuzz(func(t *testing.T, typ uint8, s string) {
		typ %= types
		num, text, ok := fields[typ].Convert(slog.StringValue(s))
		if !ok || typ == String || typ == Bool || typ == Duration {
			return
		}
		require.Empty(t, text)
		again := slog.Int64Value(int64(num)) // of a type with 64 bits, whatever its sign
		switch typ {
		case Float64:
			again = slog.Float64Value(math.Float64frombits(num))
		case Uint64:
			if num > math.MaxInt64 {
				return
			}
		}
		same, _, ok := fields[typ].Convert(again)
		require.True(t, ok)
		require.Equal(t, num, same)
	})
}
