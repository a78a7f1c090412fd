package typed_test

import (
	"encoding/binary"
	"math"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
)

// requireHarmless checks that printing a text does nothing but print it.
func requireHarmless(t testing.TB, text string) {
	t.Helper()
	require.True(t, utf8.ValidString(text))
	for _, r := range text {
		require.False(t, unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp), "%q", text)
	}
}

func decode(t testing.TB, command, payload string) typed.Record {
	t.Helper()
	dec, err := typed.NewDecoder(mustParse(t, command), binary.LittleEndian)
	require.NoError(t, err)
	r, err := dec.Decode(unhex(t, payload))
	require.NoError(t, err)
	return r
}

func TestRecord(t *testing.T) {
	r := decode(t, "event u8 a; s16 b; char[2] c", "01 feff 6869")
	assert.Equal(t, "event", r.Event())
	assert.Equal(t, 3, r.Len())

	name, v := r.Field(1)
	assert.Equal(t, "b", name)
	assert.Equal(t, int64(-2), v.Int64())

	v, found := r.Lookup("c")
	assert.True(t, found)
	assert.Equal(t, "hi", v.Text())
	_, found = r.Lookup("d")
	assert.False(t, found)

	var names []string
	for name := range r.All() {
		names = append(names, name)
		if name == "b" {
			break
		}
	}
	assert.Equal(t, []string{"a", "b"}, names)
}

func TestZeroRecord(t *testing.T) {
	var r typed.Record
	assert.Empty(t, r.Event())
	assert.Zero(t, r.Len())
	_, found := r.Lookup("a")
	assert.False(t, found)
	for range r.All() {
		t.Error("a field of nothing")
	}
	assert.Equal(t, ":", r.String())
}

func TestRecordWithoutCommonFields(t *testing.T) {
	d := mustParse(t, "event u8 a")
	dec, err := typed.NewFormatDecoder(formatOf(d), binary.LittleEndian)
	require.NoError(t, err)
	r, err := dec.Decode(record(binary.LittleEndian, []byte{5}))
	require.NoError(t, err)
	assert.Equal(t, 1, r.Len())
	assert.Equal(t, "event: a=5", r.String())
}

func TestValueIntegers(t *testing.T) {
	r := decode(t, "event u64 a; s8 b", "ffffffffffffffff 80")
	_, a := r.Field(0)
	assert.Equal(t, typed.KindUint, a.Kind())
	assert.Equal(t, uint64(math.MaxUint64), a.Uint64())
	assert.Equal(t, int64(-1), a.Int64())
	_, b := r.Field(1)
	assert.Equal(t, typed.KindInt, b.Kind())
	assert.Equal(t, int64(-128), b.Int64())
	assert.Equal(t, uint64(math.MaxUint64-127), b.Uint64())
	for _, v := range []typed.Value{a, b} {
		assert.Empty(t, v.Text())
		assert.Nil(t, v.Bytes())
		assert.Zero(t, v.Len())
		assert.Equal(t, typed.Value{}, v.At(0))
	}
}

func TestValueArray(t *testing.T) {
	_, v := decode(t, "event __rel_loc u16[] a", "00000400 0100 ffff").Field(0)
	assert.Equal(t, typed.KindArray, v.Kind())
	assert.Equal(t, 2, v.Len())
	assert.Equal(t, uint64(0xFFFF), v.At(1).Uint64())
	assert.Equal(t, typed.Value{}, v.At(2))
	assert.Equal(t, typed.Value{}, v.At(-1))
	assert.Equal(t, []byte{1, 0, 0xFF, 0xFF}, v.Bytes())
	assert.Zero(t, v.Int64())
	assert.Empty(t, v.Text())
	assert.Equal(t, "{1,65535}", v.String())
}

func TestValueText(t *testing.T) {
	_, v := decode(t, "event char[8] a", "6162 0a 00 7a7a7a7a").Field(0)
	assert.Equal(t, typed.KindText, v.Kind())
	assert.Equal(t, "ab\n", v.Text())
	assert.Equal(t, []byte("ab\n"), v.Bytes())
	assert.Zero(t, v.Len())
	assert.Equal(t, `ab\n`, v.String())
}

func TestValueBytes(t *testing.T) {
	_, v := decode(t, "event struct p a 3", "00 00 ff").Field(0)
	assert.Equal(t, typed.KindBytes, v.Kind())
	assert.Equal(t, []byte{0, 0, 0xFF}, v.Bytes())
	assert.Equal(t, "00,00,ff", v.String())
}

func TestZeroValue(t *testing.T) {
	var v typed.Value
	assert.Equal(t, typed.KindInvalid, v.Kind())
	assert.Empty(t, v.String())
	assert.Equal(t, typed.Value{}, v.At(0))
}

func TestKindString(t *testing.T) {
	names := map[typed.Kind]string{
		typed.KindInvalid: "invalid", typed.KindInt: "int", typed.KindUint: "uint", typed.KindText: "text",
		typed.KindArray: "array", typed.KindBytes: "bytes", typed.KindBytes + 1: "invalid", 200: "invalid",
	}
	for kind, want := range names {
		assert.Equal(t, want, kind.String())
	}
}
