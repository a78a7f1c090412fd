package processcontext

import (
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
