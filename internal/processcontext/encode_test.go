package processcontext

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
