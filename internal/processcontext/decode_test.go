package processcontext

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDecode(t *testing.T) {
	got, err := decode(protoc)
	require.NoError(t, err)
	assert.Equal(t, allTypes, got)
}

// TestDecodeMalformed: each payload is an error, or what a parser of protobuf makes of it.
func TestDecodeMalformed(t *testing.T) {
	in := func(value string) string { // an attribute with it
		b := appendBytes(nil, keyValueValue, value)
		return string(appendBytes(nil, contextResource, appendBytes(nil, resourceAttributes, b)))
	}
	tooDeep := appendAttributes(nil, []Attribute{{"", nest("x", maxDepth+1)}}, maxDepth+1)
	for payload, want := range map[string]any{
		"":         nil,
		"\x0a\x00": nil,
		"\x0a":     errMalformed, // without a length
		"\x0a\x01": errMalformed, // without its bytes
		"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f":     errMalformed,
		"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01": errMalformed,
		"\x80":                         errMalformed, // an unfinished tag
		"\x00\x00":                     errMalformed, // field 0
		"\xfa\xff\xff\xff\xff\x01\x00": errMalformed, // a field above 2^29
		"\x0b\x0c":                     errMalformed, // a group
		"\x10":                         errMalformed, // an unfinished number
		"\x11\x01":                     errMalformed,
		"\x15\x01":                     errMalformed,
		"\x10\x01\x11\x01\x02\x03\x04\x05\x06\x07\x08\x15\x01\x02\x03\x04\x1a\x01x": nil, // unknown fields
		in(""):                            []Attribute{{}},
		in("\x0a\x01a\x18\x05"):           []Attribute{{Value: int64(5)}}, // the last one counts
		in("\x08\x05"):                    []Attribute{{}},                // another type, so another field
		in("\x10\x02"):                    []Attribute{{Value: true}},
		in("\x2a\x01\x0a"):                errMalformed,
		in("\x32\x01\x0a"):                errMalformed,
		in("\x32\x03\x0a\x01\x12"):        errMalformed,
		in("\x2a\x02\x10\x01"):            []Attribute{{Value: []any{}}},
		in("\x0a\x01a") + "\x0a\x01\x0a":  errMalformed,
		in("\x0a\x01a") + in("\x0a\x01b"): []Attribute{{Value: "a"}, {Value: "b"}}, // messages are merged
		string(appendBytes(nil, contextResource, tooDeep)): errTooDeep,
	} {
		got, err := decode([]byte(payload))
		if wantErr, ok := want.(error); ok {
			assert.ErrorIs(t, err, wantErr, "%q", payload)
			continue
		}
		require.NoError(t, err, "%q", payload)
		list, _ := want.([]Attribute)
		assert.Equal(t, list, got, "%q", payload)
	}
}

// FuzzDecode: a payload that can be decoded is the same resource when it is encoded again.
func FuzzDecode(f *testing.F) {
	f.Add(protoc)
	f.Add(must(encode([]Attribute{{"k", nest([]Attribute{{"k", 1.5}, {"k", "\xff"}}, 5)}})))
	f.Add([]byte("\x10\x01\x11\x01\x02\x03\x04\x05\x06\x07\x08\x15\x01\x02\x03\x04\x1a\x01x"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		resource, err := decode(payload)
		if err != nil {
			return
		}
		first, err := encode(resource)
		if err != nil { // texts that are not UTF-8 become longer
			require.Greater(t, 3*len(payload), maxPayload)
			return
		}
		again, err := decode(first)
		require.NoError(t, err)
		require.Equal(t, first, must(encode(again)))
		require.Len(t, again, len(resource))
	})
}

// protoc is what protoc --encode makes of a ProcessContext with a value of each type, a count of dropped attributes, and an attribute
// that does not belong to the resource.
var protoc = unhex("0a94010a160a0c736572766963652e6e616d6512060a0473686f700a090a05656d70747912000a090a03796573120210010a120a03696e74120b18feffffffff" +
	"ffffffff010a130a06646f75626c65120921000000000000f83f0a0d0a05627974657312043a0200ff0a150a056172726179120c2a0a0a030a01610a0318ac02" +
	"0a130a036d6170120c320a0a080a026e6f12021000100312210a1a7468726561646c6f63616c2e736368656d615f76657273696f6e12030a0178")

// allTypes is the resource in it.
var allTypes = []Attribute{
	{"service.name", "shop"},
	{"empty", nil},
	{"yes", true},
	{"int", int64(-2)},
	{"double", 1.5},
	{"bytes", []byte{0, 0xff}},
	{"array", []any{"a", int64(300)}},
	{"map", []Attribute{{"no", false}}},
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// nest returns a value in as many lists.
func nest(value any, lists int) any {
	for range lists {
		value = []any{value}
	}
	return value
}

// TestEncode compares with protoc.
func TestEncode(t *testing.T) {
	got, err := encode(allTypes)
	require.NoError(t, err)
	const resourceBytes, countBytes, header = 0x94, 2, 3
	assert.Equal(t, hex.EncodeToString(protoc[header:header+resourceBytes-countBytes]), hex.EncodeToString(got[header:]))
	got, err = encode(nil)
	require.NoError(t, err)
	assert.Equal(t, []byte{contextResource, 0}, got, "no payload is empty")
}

// TestEncodeLimits: what readers would refuse is replaced or an error.
func TestEncodeLimits(t *testing.T) {
	for _, c := range []struct{ value, want any }{
		{"a\xffb", "a\uFFFDb"},
		{int32(1), nil},
		{nest("x", maxDepth), nest("x", maxDepth)},
		{nest("x", maxDepth+1), nest(nil, maxDepth)},
		{nest([]Attribute{{"x", "y"}}, maxDepth), nest(nil, maxDepth)},
		{math.Inf(-1), math.Inf(-1)},
		{int64(math.MinInt64), int64(math.MinInt64)},
		{"", ""},
		{[]byte{}, []byte{}},
		{[]any{}, []any{}},
		{[]Attribute{}, []Attribute{}},
	} {
		b, err := encode([]Attribute{{"k\xff", c.value}})
		require.NoError(t, err)
		got, err := decode(b)
		require.NoError(t, err)
		assert.Equal(t, []Attribute{{"k\uFFFD", c.want}}, got)
	}
	overhead := len(must(encode([]Attribute{{"k", strings.Repeat("x", 60000)}}))) - 60000
	_, err := encode([]Attribute{{"k", strings.Repeat("x", maxPayload-overhead)}})
	require.NoError(t, err)
	_, err = encode([]Attribute{{"k", strings.Repeat("x", maxPayload-overhead+1)}})
	require.EqualError(t, err, "the resource has 65537 bytes, and readers take 65536")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
