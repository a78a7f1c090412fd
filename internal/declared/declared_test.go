package declared

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

func TestNames(t *testing.T) {
	for _, c := range []struct {
		asked, key string
		typ        Type
		want       string
	}{
		{"", "http.request.method", String, "http_request_method"},
		{"", "latency", Duration, "latency_ns"},
		{"", "latency_ns", Duration, "latency_ns"},
		{"", "expires", Time, "expires_unix_nano"},
		{"", "status", types, "status"},
		{"code", "status", Uint16, "code"},
		{"wait", "wait", Duration, "wait"},
	} {
		assert.Equal(t, c.want, FieldName(c.asked, c.key, c.typ))
	}
	assert.Equal(t, "http_request", EventName("", "http.request"))
	assert.Equal(t, "request", EventName("request", "http.request"))
}

// TestTypes: every type is one that the kernel takes, and texts are those behind the fixed part.
func TestTypes(t *testing.T) {
	for typ := range types {
		d := tracepoint.Declaration{Name: "e", Fields: []tracepoint.Field{{Name: "f", Type: typ.Tracepoint()}}}
		require.NoError(t, d.Validate(), typ)
		assert.Equal(t, typ.Tracepoint().Location == tracepoint.DataLoc, typ.IsText(), typ)
	}
	assert.Equal(t, tracepoint.Type{}, types.Tracepoint(), "unknown")
}

// refused stands for a value that cannot be converted.
const refused = "refused"

// field converts a value and returns what a decoder reads from the field.
func field(t *testing.T, typ Type, v Value) string {
	num, text, ok := typ.Convert(v)
	if !ok {
		return refused
	}
	layout, err := typedfield.NewLayout(tracepoint.Declaration{Name: "e", Fields: []tracepoint.Field{{Name: "f", Type: typ.Tracepoint()}}})
	require.NoError(t, err)
	buf, cut := typ.Put(layout.Begin(nil), 0, 0, num, text, 1000)
	require.False(t, cut)
	decoder, err := typed.NewDecoder(layout.Declaration(), nil)
	require.NoError(t, err)
	r, err := decoder.Decode(buf)
	require.NoError(t, err)
	got, ok := r.Lookup("f")
	require.True(t, ok)
	return string(got.AppendTo(nil))
}

func TestConvert(t *testing.T) {
	for _, c := range []struct {
		name string
		v    Value
		want map[Type]string // of types that take the value
	}{
		{"nothing", Value{}, nil},
		{"true", BoolValue(true), map[Type]string{String: "true", Bool: "1", Int32: "1", Int64: "1", Uint8: "1", Uint16: "1", Uint32: "1", Uint64: "1", Duration: "1"}},
		{"7", IntValue(7), map[Type]string{String: "7", Int32: "7", Int64: "7", Uint8: "7", Uint16: "7", Uint32: "7", Uint64: "7", Float64: "7", Duration: "7", Time: "7"}},
		{"-1", IntValue(-1), map[Type]string{String: "-1", Int32: "-1", Int64: "-1", Float64: "-1", Duration: "-1"}},
		{"256", IntValue(256), map[Type]string{String: "256", Int32: "256", Int64: "256", Uint16: "256", Uint32: "256", Uint64: "256", Float64: "256", Duration: "256", Time: "256"}},
		{"65536", IntValue(65536), map[Type]string{String: "65536", Int32: "65536", Int64: "65536", Uint32: "65536", Uint64: "65536", Float64: "65536", Duration: "65536", Time: "65536"}},
		{"2^31", IntValue(1 << 31), map[Type]string{String: "2147483648", Int64: "2147483648", Uint32: "2147483648", Uint64: "2147483648", Float64: "2147483648", Duration: "2147483648", Time: "2147483648"}},
		{"2^53+1", IntValue(1<<53 + 1), map[Type]string{String: "9007199254740993", Int64: "9007199254740993", Uint64: "9007199254740993", Duration: "9007199254740993", Time: "9007199254740993"}},
		{"max", IntValue(math.MaxInt64), map[Type]string{String: "9223372036854775807", Int64: "9223372036854775807", Uint64: "9223372036854775807", Duration: "9223372036854775807", Time: "9223372036854775807"}},
		{"0.5", FloatValue(0.5), map[Type]string{String: "0.5", Float64: "0.5"}},
		{"2.0", FloatValue(2), map[Type]string{String: "2", Int32: "2", Int64: "2", Uint8: "2", Uint16: "2", Uint32: "2", Uint64: "2", Float64: "2", Duration: "2"}},
		{"-2.0", FloatValue(-2), map[Type]string{String: "-2", Int32: "-2", Int64: "-2", Float64: "-2", Duration: "-2"}},
		{"1e300", FloatValue(1e300), map[Type]string{String: "1e+300", Float64: "1e+300"}},
		{"NaN", FloatValue(math.NaN()), map[Type]string{String: "NaN", Float64: "NaN"}},
		{"text", TextValue("GET"), map[Type]string{String: "GET"}},
		{"text true", TextValue("true"), map[Type]string{String: "true", Bool: "1"}},
		{"text false", TextValue("false"), map[Type]string{String: "false", Bool: "0"}},
		{"text 8", TextValue("8"), map[Type]string{String: "8", Int32: "8", Int64: "8", Uint8: "8", Uint16: "8", Uint32: "8", Uint64: "8", Float64: "8", Duration: "8"}},
		{"text 08", TextValue("08"), map[Type]string{String: "08"}},
		{"text 2^64-1", TextValue("18446744073709551615"), map[Type]string{String: "18446744073709551615", Uint64: "18446744073709551615"}},
		{"text 0.25", TextValue("0.25"), map[Type]string{String: "0.25", Float64: "0.25"}},
		{"text 1.5s", TextValue("1.5s"), map[Type]string{String: "1.5s", Duration: "1500000000"}},
		{"text 90s", TextValue("90s"), map[Type]string{String: "90s"}},
		{"empty text", TextValue(""), map[Type]string{String: ""}},
	} {
		for typ := range types {
			want, ok := c.want[typ]
			if !ok {
				want = refused
			}
			assert.Equal(t, want, field(t, typ, c.v), "%s as type %d", c.name, typ)
		}
		_, _, ok := types.Convert(c.v)
		assert.False(t, ok, "unknown type")
	}
}

// TestConvertAtTheEnds: a type takes the numbers at the ends of its range, and not the next ones, whatever kind of value has them.
func TestConvertAtTheEnds(t *testing.T) {
	for typ := Bool; typ < types; typ++ {
		if typ.IsText() {
			continue
		}
		least, most := info[typ].min, info[typ].max
		convert := func(want bool, v Value) {
			t.Helper()
			got := field(t, typ, v)
			assert.Equal(t, want, got != refused, "%s as type %d: %s", got, typ, fmt.Sprint(v))
		}
		convert(true, IntValue(least))
		convert(true, IntValue(0))
		if least > math.MinInt64 {
			convert(false, IntValue(least-1))
		}
		if most <= math.MaxInt64 {
			convert(true, IntValue(int64(most)))
		}
		convert(true, UintValue(most))
		if most < math.MaxUint64 {
			convert(false, UintValue(most+1))
		}
		if typ == Time {
			convert(false, FloatValue(0))
			continue
		}
		convert(true, FloatValue(0))
		convert(true, FloatValue(float64(least)))
		convert(false, FloatValue(math.Nextafter(float64(least), math.Inf(-1))))
		convert(false, FloatValue(float64(most)+1)) // 1<<63 and 1<<64, rounded
		if most < 1<<53 {
			convert(true, FloatValue(float64(most)))
		}
	}
}

// TestConvertUnsignedToFloat: an integer becomes a floating-point number if that has its value.
func TestConvertUnsignedToFloat(t *testing.T) {
	for _, v := range []uint64{0, 7, 1 << 53, 1<<53 + 1, 1 << 63, 1<<63 + 1, math.MaxUint64 - 2047, math.MaxUint64} {
		want := refused
		if exact := new(big.Int); new(big.Float).SetUint64(v).IsInt() {
			new(big.Float).SetFloat64(float64(v)).Int(exact)
			if exact.Cmp(new(big.Int).SetUint64(v)) == 0 {
				want = strconv.FormatFloat(float64(v), 'f', -1, 64)
			}
		}
		assert.Equal(t, want, field(t, Float64, UintValue(v)), v)
		if v <= math.MaxInt64 {
			assert.Equal(t, want, field(t, Float64, IntValue(int64(v))), v)
		}
	}
	assert.Equal(t, refused, field(t, Float64, IntValue(math.MaxInt64)))
	assert.NotEqual(t, refused, field(t, Float64, IntValue(math.MinInt64)))
}

// TestConvertTime: a time is a number if nanoseconds since 1970 tell it, and a text whatever it is.
func TestConvertTime(t *testing.T) {
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
		num, text, ok := Time.ConvertTime(tt.at)
		assert.Empty(t, text)
		got := refused
		if ok {
			got = strconv.FormatUint(num, 10)
		}
		assert.Equal(t, tt.want, got, tt.at)
		_, text, ok = String.ConvertTime(tt.at)
		assert.True(t, ok)
		back, err := time.Parse(time.RFC3339Nano, text)
		require.NoError(t, err)
		assert.True(t, back.Equal(tt.at))
	}
	for _, typ := range []Type{Bool, Int64, Duration, Float64, types} {
		_, _, ok := typ.ConvertTime(time.Unix(1, 0))
		assert.False(t, ok, typ)
	}
}

func TestRange(t *testing.T) {
	for typ, want := range map[Type][2]int64{
		Bool: {0, 1}, Int32: {math.MinInt32, math.MaxInt32}, Uint8: {0, math.MaxUint8}, Uint64: {0, math.MaxInt64},
		Time: {0, math.MaxInt64}, Duration: {math.MinInt64, math.MaxInt64}, types: {0, 0}, types + 1: {0, 0},
	} {
		least, most := typ.Range()
		assert.Equal(t, want, [2]int64{least, most}, typ)
	}
}

// TestLongestFloat: a field for a floating-point number declares room for the longest one.
func TestLongestFloat(t *testing.T) {
	longest := text.AppendFloat(nil, -1.2345678901234567e-6, 64)
	assert.Equal(t, len(longest)+1, Float64.Field("f").Size)
}

func TestPutCuts(t *testing.T) {
	layout, err := typedfield.NewLayout(tracepoint.Declaration{Name: "e", Fields: []tracepoint.Field{{Name: "f", Type: String.Tracepoint()}}})
	require.NoError(t, err)
	buf := layout.Begin(nil)
	out, cut := String.Put(buf, 0, 0, 0, "0123456789", 8)
	assert.True(t, cut)
	assert.Equal(t, len(buf)+8, len(out))
	assert.Contains(t, string(out), "0123"+text.CutMark+"\x00")
}

// FuzzConvert: what a field takes can be told from what it holds: converting the field's own text gives the
// same field again.
func FuzzConvert(f *testing.F) {
	for _, s := range []string{"", "1", "-1", "1.5s", "true", "1e+21", "18446744073709551615"} {
		f.Add(uint8(Int64), s)
		f.Add(uint8(Duration), s)
	}
	f.Fuzz(func(t *testing.T, typ uint8, s string) {
		num, text, ok := Type(typ).Convert(TextValue(s))
		if !ok || Type(typ) == String || Type(typ) == Bool || Type(typ) == Duration {
			return
		}
		require.Empty(t, text)
		again := IntValue(int64(num)) // of a type with 64 bits, whatever its sign
		switch Type(typ) {
		case Float64:
			again = FloatValue(math.Float64frombits(num))
		case Uint64:
			if num > math.MaxInt64 {
				return
			}
		}
		same, _, ok := Type(typ).Convert(again)
		require.True(t, ok)
		require.Equal(t, num, same)
	})
}
