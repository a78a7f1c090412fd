package reader

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/attrjson"
)

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
