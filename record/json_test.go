package record

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

	"github.com/userevents/userevents-go/internal/attrjson"
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
	assert.Equal(t, Float64Value(math.Inf(-1)), numberText("-Infinity"))
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

// jsonObject returns a JSON object of n members with different keys.
func jsonObject(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf(`"k%d":%d`, i, i))
	}
	return "{" + strings.Join(members, ",") + "}"
}

func TestIsPlain(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	lists := func(n int) string { return `{"a":` + strings.Repeat(`[`, n) + strings.Repeat("]", n) + "}" }
	for _, s := range []string{
		`{"http.request.method":"GET","http.route":"/users/{id}","http.response.status_code":200,"latency":0.0015,"cached":true}`,
		`{"":0}`, `{"a":""}`, `{"a":"1234567","b":"12345678","c":"123456789"}`, `{"a":null,"b":true,"c":false}`, `{"a":{},"b":[],"c":[{},[]]}`,
		`{"a":{"a":{"a":1},"b":2},"b":["x",1,-2,0.5,null,{"a":1}]}`, `{"a":0,"b":-1,"c":123456789012345,"d":-123456789012345}`,
		`{"a":0.1,"b":-0.1,"c":12345678901234.5,"d":0.000001,"e":0.0000019,"f":10.01,"g":1.0,"h":-0.0,"i":0.0,"j":100.0}`, `{"a":" ~!#$%&'()*+,-./:;<=>?@[]^_{|}"}`,
		`{"a1b":1,"a2b":2}`, // keys with the same mark
		jsonObject(24), nested(9), lists(8),
	} {
		assert.True(t, isPlain(s), s)
		assert.False(t, isPlain(s+"x"), s)
		for i := range s {
			assert.False(t, isPlain(s[:i]), s[:i])
		}
	}
	for _, s := range []string{
		``, `{}`, `[]`, `1`, `"a"`, `{"a":1,}`, `{,"a":1}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1]`, `{"a":[1}`, `{"a":[1,]}`, `{"a":[,1]}`, `{"a":tru}`, `{"a":nul}`, `{"a" :1}`,
		` {"a":1}`, `{ "a":1}`, `{"a": 1}`, `{"a":1 }`, `{"a":1 ,"b":2}`, `{"a":1, "b":2}`, `{"a":[ 1]}`, `{"a":[1 ]}`, `{"a":[1 ,2]}`, `{"a":{ }}`, `{"a":1}{}`,
		`{"a":"\n"}`, `{"a\t":1}`, `{"a":"\\"}`, `{"a":"größe"}`, "{\"a\":\"\x7f\"}", "{\"a\":\"\n\"}", "{\"a\":\"12345678\xff\"}", "{\"a\":\"1234567890\x1b\"}",
		`{"a1234567\:123456789}`, "{\"a\":\"1234567\x7f}", "{\"a\":\"1234567\n,\"b\":1234567}", // no quote ends the text
		`{"a":1,"a":2}`, `{"abc":1,"b":2,"abc":3}`, `{"a":{"b":1,"b":2}}`, `{"":1,"":2}`,
		`{"a":-0}`, `{"a":1.00}`, `{"a":1.50}`, `{"a":1.}`, `{"a":.5}`, `{"a":-}`, `{"a":-.5}`, `{"a":01}`, `{"a":00.5}`, `{"a":1e5}`, `{"a":1:}`, `{"a":1:2}`, `{"a":0.1:}`, `{"a":1.5e5}`, `{"a":+1}`,
		`{"a":1234567890123456}`, `{"a":1234567890.123456}`, `{"a":0.0000001}`, `{"a":-0.0000009}`,
		jsonObject(25), `{"a":"` + strings.Repeat("x", 1<<16-len(`{"a":""}`)) + `"}`, nested(10), lists(9), `{"a":"` + strings.Repeat("x", 1<<16) + `"}`,
	} {
		assert.False(t, isPlain(s), s)
	}
	most := `{"a":"` + strings.Repeat("x", 1<<16-1-len(`{"a":""}`)) + `"}`
	assert.True(t, isPlain(most))
}

// TestIsPlainBytes: of all bytes in a text, those that are written as they are are plain, wherever they stand.
func TestIsPlainBytes(t *testing.T) {
	for c := range 256 {
		for n := range 18 {
			s := `{"` + strings.Repeat("x", n) + string([]byte{byte(c)}) + `yyy":"z"}`
			written := string(attrjson.AppendString(nil, s[2:len(s)-len(`":"z"}`)]))
			want := written == s[1:len(s)-len(`:"z"}`)] && c < 0x80
			require.Equal(t, want, isPlain(s), "%q", s)
		}
	}
}

// FuzzIsPlain: what is plain is valid JSON. FuzzJSON writes it again.
func FuzzIsPlain(f *testing.F) {
	f.Add(`{"a":"b","c":[1,0.5,{"d":null}]}`)
	f.Fuzz(func(t *testing.T, s string) {
		if isPlain(s) {
			require.True(t, json.Valid([]byte(s)))
		}
	})
}

// TestLargeRecordsLeaveNothingBehind: an event keeps no more memory than most records need.
func TestLargeRecordsLeaveNothingBehind(t *testing.T) {
	s := &scratch{arena: make([]Field, maxKept), stack: make([]Field, maxKept+1), top: make([]Field, maxKept+1)}
	s.begin()
	assert.Equal(t, []int{0, maxKept, 0, 0, 0, 0}, []int{len(s.arena), cap(s.arena), len(s.stack), cap(s.stack), len(s.top), cap(s.top)})
	for n, kept := range map[int]bool{maxKept: true, maxKept + 1: false} {
		list := make([]Field, n)
		for i := range list {
			list[i].Name = strconv.Itoa(i)
		}
		require.Len(t, s.unique(list, 0), n)
		assert.Equal(t, kept, s.seen != nil)
		assert.Empty(t, s.seen)
	}
}

// TestElementsStay: elements of lists do not change when more are added.
func TestElementsStay(t *testing.T) {
	s := new(scratch)
	var lists [][]Field
	for i := range 100 {
		s.stack = append(s.stack, Field{Value: Int64Value(-1)})
		for k := range i {
			s.stack = append(s.stack, Field{Value: Int64Value(int64(i + k))})
		}
		lists = append(lists, s.end(len(s.stack)-i))
	}
	for i, list := range lists {
		require.Len(t, list, i)
		assert.Equal(t, len(list), cap(list), "nothing can be appended in place")
		for k, f := range list {
			assert.Equal(t, int64(i+k), f.Value.Int64())
		}
	}
	assert.Len(t, s.stack, 100)
}
