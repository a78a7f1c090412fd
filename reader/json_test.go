package reader

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestJSON: JSON texts are read like encoding/json reads them, and other texts are rejected.
func TestJSON(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, ` { "a" : [ 1 , 2.5 , "x" ] , "b" : null } `, "\t[\r\n]", `"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`, `"\ud800"`, `"\ud800\u0041"`, `"\ud800x"`, `"\uDBFF\uDFFF"`,
		`true`, `false`, `null`, `0`, `-1`, `1e5`, `1E+5`, `1.5e-5`, `-0.0`, `123456789012345678901234567890`, `1e400`,
		`[[[[]]]]`, `{"a":{"b":{"c":[{}]}}}`, `["\\"]`, `["\\\""]`, `["a\\\\","b"]`,
		``, ` `, `{`, `}`, `[`, `]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{1:2}`, `{"a" 1}`, `[1,]`, `[,1]`, `[1 2]`, `{"a":1]`, `[1}`, `{"a":1}}`, `[1]]`,
		`"`, `"a`, `"\"`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\`, `tru`, `nul`, `truex`, `nan`, `+1`, `-`, `01`, `-01`, `1.`, `.5`, `1e`, `1e+`, `0x1`, `1_0`, `--1`, `1.5.5`, `1ee5`,
	} {
		s := new(scratch)
		got, ok := s.json(text)
		assert.Empty(t, s.stack, text)
		var want any
		d := json.NewDecoder(strings.NewReader(text))
		valid := json.Valid([]byte(text))
		require.Equal(t, valid, ok, text)
		if !valid || strings.Contains(text, "1e400") {
			continue
		}
		require.NoError(t, d.Decode(&want))
		var back any
		require.NoError(t, json.Unmarshal(got.AppendJSON(nil), &back), text)
		assert.Equal(t, want, back, text)
	}
}

// TestJSONMembers: an object's members are appended, and a text that is not an object changes nothing.
func TestJSONMembers(t *testing.T) {
	s := new(scratch)
	before := []Field{{"x", Int64Value(1)}}
	fields, ok := s.object(`{"a":1,"b":{"c":2,"c":3},"a":[4]}`, before)
	require.True(t, ok)
	assert.Equal(t, `{"x":1,"a":1,"b":{"c":3},"a":[4]}`, string(AppendJSON(nil, fields)))
	assert.Equal(t, `{"x":1,"b":{"c":3},"a":[4]}`, string(AppendJSON(nil, s.unique(fields, 0))))
	for _, text := range []string{`[1]`, `1`, ``, `{"a":1`, `{"a":1}x`, `{"a":1}{}`, `{"a":1} x`, `{"a":[1,{"b":2}`} {
		fields, ok := s.object(text, before)
		assert.False(t, ok, text)
		assert.Equal(t, before, fields, text)
		assert.Empty(t, s.stack, text)
	}
}

// TestJSONNumbers: integers of 64 bits are exact, and all others are floats.
func TestJSONNumbers(t *testing.T) {
	for text, want := range map[string]Value{
		"0": Int64Value(0), "-1": Int64Value(-1), "9223372036854775807": Int64Value(math.MaxInt64), "-9223372036854775808": Int64Value(math.MinInt64),
		"9223372036854775808": Uint64Value(1 << 63), "18446744073709551615": Uint64Value(math.MaxUint64),
		"18446744073709551616": Float64Value(1 << 64), "-9223372036854775809": Float64Value(-(1 << 63)), "18446744073709551620": Float64Value(18446744073709551620),
		"-0": Float64Value(math.Copysign(0, -1)), "1.0": Float64Value(1), "1e3": Float64Value(1000), "1e999": Float64Value(math.Inf(1)), "-1e999": Float64Value(math.Inf(-1)),
		"1e-999": Float64Value(0),
	} {
		got, ok := new(scratch).json(text)
		assert.True(t, ok, text)
		assert.Equal(t, want, got, text)
		assert.Equal(t, want, numberText(text), text)
	}
	assert.Equal(t, Float64Value(math.Inf(1)), numberText("Infinity"))
	assert.True(t, math.IsNaN(numberText("NaN").Float64()))
	for _, text := range []string{"", "x", "1x", "infinity", " 1", "1 ", "1,"} {
		assert.Equal(t, TypeNull, numberText(text).Type(), text)
	}
}

// TestJSONDecimals: decimal numbers have the values that strconv gives them, whatever their length.
func TestJSONDecimals(t *testing.T) {
	const digits = "9007199254740993000000000000000"
	for n := 1; n < len(digits); n++ {
		for point := 1; point <= n; point++ {
			for _, text := range []string{digits[:n], "0." + digits[:n], digits[:point] + "." + digits[point:n+1], "0." + strings.Repeat("0", point) + digits[:n]} {
				for _, text := range []string{text, "-" + text} {
					want, err := strconv.ParseFloat(text, 64)
					require.NoError(t, err)
					got, n := number(text)
					require.Equal(t, len(text), n, text)
					require.Equal(t, math.Float64bits(want), math.Float64bits(got.Float64()), text)
					require.Equal(t, strings.Contains(text, ".") || want < -1<<63 || want >= 1<<64, got.Type() == TypeFloat64, text)
				}
			}
		}
	}
	for _, n := range []uint64{math.MaxUint64, math.MaxUint64 - 1, 1e19, 1e19 - 1} {
		got, _ := number(strconv.FormatUint(n, 10))
		assert.Equal(t, Uint64Value(n), got)
	}
}

// TestStringEnds: the end of a string is found wherever it stands, behind escapes of each length.
func TestStringEnds(t *testing.T) {
	for n := range 20 {
		for _, escape := range []string{``, `\\`, `\"`, `\\\\`, `\\\"`, `\u0041`} {
			for m := range 10 {
				inside := strings.Repeat("x", n) + escape + strings.Repeat("y", m)
				var want string
				require.NoError(t, json.Unmarshal([]byte(`"`+inside+`"`), &want))
				for _, rest := range []string{``, ` `, strings.Repeat(" ", 9)} {
					got, ok := new(scratch).json(`"` + inside + `"` + rest)
					require.True(t, ok, inside)
					require.Equal(t, want, got.Text())
				}
				_, ok := new(scratch).json(`"` + inside)
				require.False(t, ok, inside)
				_, ok = new(scratch).json(`"` + inside + `\`)
				require.False(t, ok, inside)
			}
		}
	}
}

// TestJSONDepth: texts are read up to the depth that adapters write.
func TestJSONDepth(t *testing.T) {
	for depth, want := range map[int]bool{1: true, maxDepth: true, maxDepth + 1: false, 1 << 20: false} {
		_, ok := new(scratch).json(strings.Repeat("[", depth) + strings.Repeat("]", depth))
		assert.Equal(t, want, ok, depth)
		_, ok = new(scratch).json(strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth))
		assert.Equal(t, want, ok, depth)
	}
}

// TestUnique: of several fields with a name, the last one keeps its position, for any number of fields.
func TestUnique(t *testing.T) {
	for _, n := range []int{0, 1, 2, fewFields, fewFields + 1, 3 * fewFields, 2 * maxKept} {
		for _, names := range []int{1, 2, 10, 3 * maxKept} {
			s := new(scratch)
			for range 2 { // the memory is used again
				all := []Field{{"0", Int64Value(-1)}, {"0", Int64Value(-2)}} // before the base
				var want []Field
				for i := range n {
					f := Field{fmt.Sprint(i * i % names), Int64Value(int64(i))}
					all = append(all, f)
				}
				last := map[string]int{}
				for i, f := range all[2:] {
					last[f.Name] = i
				}
				want = append(want, all[:2]...)
				for i, f := range all[2:] {
					if last[f.Name] == i {
						want = append(want, f)
					}
				}
				assert.Equal(t, want, s.unique(all, 2), "%d of %d", n, names)
			}
		}
	}
}

// FuzzJSON: texts that encoding/json accepts have the same value in this package.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a":1,"b":{"c":[2,"x"]},"a":"\u00e9\n"}`)
	f.Add(`[-0,1e5,18446744073709551615,1.5E-3,true,null]`)
	f.Add(`"\ud83d\ude00\ud800"`)
	f.Add(`{"a":0.0015,"b":-12,"c":["x",{}],"d":0.000001,"e":12345678901234.5}`)
	f.Fuzz(func(t *testing.T, text string) {
		s := new(scratch)
		got, ok := s.json(text)
		require.Empty(t, s.stack)
		before := []Field{{"x", Value{}}}
		fields, isObject := s.object(text, before)
		require.Equal(t, ok && got.Type() == TypeMap, isObject)
		require.Equal(t, "x", fields[0].Name)
		if !ok {
			require.False(t, json.Valid([]byte(text)) && strings.Count(text, "[")+strings.Count(text, "{") <= maxDepth, "valid JSON is refused")
			return
		}
		written := got.AppendJSON(nil)
		require.True(t, json.Valid(written))
		if isPlain(text) {
			require.Equal(t, text, string(written), "it can be copied")
		}
		if !json.Valid([]byte(text)) || !utf8.ValidString(text) || strings.Contains(text, "\xee") || strings.Contains(strings.ToLower(text), `\uef`) {
			return // control characters, and bytes that JSON cannot represent
		}
		var want, have any
		if json.Unmarshal([]byte(text), &want) == nil { // a number may be too large
			require.NoError(t, json.Unmarshal(written, &have))
			require.Equal(t, want, have)
		}
	})
}

// TestDigits: a number ends before the first byte that is no digit.
func TestDigits(t *testing.T) {
	for c := range 256 {
		_, n := number("1" + string([]byte{byte(c)}))
		want := 1
		switch {
		case c >= '0' && c <= '9':
			want = 2
		case c == '.' || c == 'e' || c == 'E':
			want = 0
		}
		assert.Equal(t, want, n, "%q", c)
	}
}
