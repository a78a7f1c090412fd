package typedfield_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

// A buffer that begins with something, as with a write index, and a payload of one location word.
const (
	prefix  = "indx"
	wordAt  = len(prefix)
	textsAt = len(prefix) + 4
)

func wordBuffer(capacity int) []byte {
	return append(make([]byte, 0, textsAt+capacity), prefix+"\xee\xee\xee\xee"...)
}

// location returns the parts of the location word. The offset is that behind the word.
func location(b []byte) (offset, size int) {
	word := binary.NativeEndian.Uint32(b[wordAt:])
	return int(word&0xFFFF) - tracepoint.CommonSize - (textsAt - wordAt), int(word >> 16)
}

func TestAppendString(t *testing.T) {
	tests := []struct {
		name, in string
		max      int
		want     string // with its NUL
		cut      int
	}{
		{"plain", "hello", 100, "hello\x00", 0},
		{"exactly", "hello", 6, "hello\x00", 0},
		{"one too long", "hello", 5, "h...\x00", 4},
		{"mark only", "hello", 4, "...\x00", 5},
		{"control", "a\nb", 100, "a\\nb\x00", 0},
		{"control, exactly", "a\nb", 5, "a\\nb\x00", 0},
		{"control, cut", "a\nb", 4, "...\x00", 3},
		{"long", strings.Repeat("x", 50), 100, strings.Repeat("x", 50) + "\x00", 0},
	}
	for _, tt := range tests {
		for _, capacity := range []int{0, len(tt.in), len(tt.in) + 1, 200} { // both ways to grow
			b, cut := typedfield.AppendString(wordBuffer(capacity), wordAt, wordAt, tt.in, tt.max)
			assert.Equal(t, tt.want, string(b[textsAt:]), tt.name)
			assert.Equal(t, tt.cut, cut, tt.name)
			assert.LessOrEqual(t, len(b)-textsAt, tt.max, tt.name)
			offset, size := location(b)
			assert.Equal(t, 0, offset, tt.name)
			assert.Equal(t, len(tt.want), size, tt.name)
			assert.Equal(t, prefix, string(b[:wordAt]))
		}
	}
}

// What leaves nothing must leave the field as Begin made it: empty.
func TestAppendStringOfNothing(t *testing.T) {
	tests := []struct {
		in  string
		max int
		cut int
	}{
		{"", 100, 0}, {"", 0, 0}, {"", -5, 0}, {"hello", 3, 5}, {"hello", 0, 5}, {"hello", -5, 5}, {"\n", 2, 1}, {"\n\n", 3, 2},
	}
	l := mustLayout(t, "myapp_info __data_loc char[] msg")
	for _, tt := range tests {
		for _, room := range []int{0, 10, 100} {
			b, cut := typedfield.AppendString(l.Begin(append(make([]byte, 0, len(prefix)+l.FixedSize()+room), prefix...)), wordAt, wordAt, tt.in, tt.max)
			assert.Equal(t, prefix+string(l.Begin(nil)), string(b), "%q in %d", tt.in, tt.max)
			assert.Equal(t, tt.cut, cut)
		}
	}
}

func TestEndText(t *testing.T) {
	b := append(wordBuffer(0), "other\x00"...)
	begin := len(b)
	b = append(b, `{"a":1}`...)
	b = typedfield.EndText(b, wordAt, wordAt, begin)
	assert.Equal(t, "other\x00{\"a\":1}\x00", string(b[textsAt:]))
	offset, size := location(b)
	assert.Equal(t, len("other\x00"), offset)
	assert.Equal(t, len(`{"a":1}`)+1, size)
}

func TestEndArray(t *testing.T) {
	b := append(wordBuffer(0), "x"...)
	begin := len(b)
	b = binary.NativeEndian.AppendUint16(b, 1)
	b = binary.NativeEndian.AppendUint16(b, 2)
	typedfield.EndArray(b, wordAt, wordAt, begin)
	offset, size := location(b)
	assert.Equal(t, 1, offset)
	assert.Equal(t, 4, size)
}

func TestAppendHex(t *testing.T) {
	for n := range 20 {
		id := make([]byte, n)
		for i := range id {
			id[i] = byte(i*37 + 0x9A)
		}
		for _, capacity := range []int{0, 100} {
			b := append(wordBuffer(capacity), "x"...)
			b = typedfield.AppendHex(b, wordAt, wordAt, id)
			assert.Equal(t, "x"+hex.EncodeToString(id)+"\x00", string(b[textsAt:]))
			offset, size := location(b)
			assert.Equal(t, 1, offset)
			assert.Equal(t, 2*n+1, size)
		}
	}
}

func TestLocationOfTheLongestPayload(t *testing.T) {
	b := append(wordBuffer(0), strings.Repeat("x", typed.MaxLimit-5)...)
	begin := len(b)
	b = typedfield.EndText(b, wordAt, wordAt, begin)
	require.Len(t, b, len(prefix)+typed.MaxLimit)
	offset, size := location(b)
	assert.Equal(t, typed.MaxLimit-5, offset)
	assert.Equal(t, 1, size)
}

// TestTextsBehindTheLongestPayload: a payload that is still to be cut has valid locations of empty texts.
func TestTextsBehindTheLongestPayload(t *testing.T) {
	for _, more := range []int{1, 2, 100, 1 << 16} {
		b := append(wordBuffer(0), strings.Repeat("x", typed.MaxLimit+more)...)
		b = typedfield.EndText(b, wordAt, wordAt, len(b))
		_, size := location(b)
		assert.Equal(t, 1, size, more)
	}
}

func TestPutIntegers(t *testing.T) {
	b := bytes.Repeat([]byte{0xEE}, 20)
	typedfield.PutU8(b, 1, 0x11)
	typedfield.PutU16(b, 2, 0x2122)
	typedfield.PutU32(b, 4, 0x41424344)
	typedfield.PutU64(b, 8, 0x8182838485868788)
	want := []byte{0xEE, 0x11}
	want = binary.NativeEndian.AppendUint16(want, 0x2122)
	want = binary.NativeEndian.AppendUint32(want, 0x41424344)
	want = binary.NativeEndian.AppendUint64(want, 0x8182838485868788)
	assert.Equal(t, append(want, 0xEE, 0xEE, 0xEE, 0xEE), b)
}

func TestBool(t *testing.T) {
	assert.Equal(t, uint8(1), typedfield.Bool(true))
	assert.Equal(t, uint8(0), typedfield.Bool(false))
}

func TestUnixNano(t *testing.T) {
	tests := []struct {
		in   time.Time
		want uint64
	}{
		{time.Time{}, 0},
		{time.Unix(0, 0), 0},
		{time.Unix(-1, 999999999), 0},
		{time.Unix(0, 1), 1},
		{time.Unix(1700000000, 123456789), 1700000000123456789},
		{time.Date(2262, 4, 12, 0, 0, 0, 0, time.UTC), 9223372800000000000}, // beyond Time.UnixNano
		{time.Unix(18446744072, 999999999), 18446744072999999999},
		{time.Unix(18446744073, 0), math.MaxUint64},
		{time.Unix(math.MaxInt64, 0), math.MaxUint64},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, typedfield.UnixNano(tt.in), tt.in)
	}
}

func TestScale(t *testing.T) {
	tests := []struct {
		v, scale float64
		want     int64
	}{
		{0.25, 1000, 250},
		{-0.25, 1000, -250},
		{0.0004, 1000, 0},
		{0.0005, 1000, 1},
		{0, 1000, 0},
		{1e300, 1000, math.MaxInt64},
		{-1e300, 1000, math.MinInt64},
		{math.MaxInt64, 1, math.MaxInt64},
		{math.MinInt64, 1, math.MinInt64},
		{math.Inf(1), 1, math.MaxInt64},
		{math.Inf(-1), 1, math.MinInt64},
		{math.NaN(), 1, math.MinInt64},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, typedfield.Scale(tt.v, tt.scale), "%v by %v", tt.v, tt.scale)
	}
}

// Indexing outside a buffer panics; it must not write somewhere else.
func TestPutPanicsOutsideTheBuffer(t *testing.T) {
	b := []byte(strings.Repeat("x", 8))
	assert.Panics(t, func() { typedfield.PutU64(b, 1, 0) })
	assert.Panics(t, func() { typedfield.PutU64(b[:4], 0, 0) })
	assert.Equal(t, "xxxxxxxx", string(b))
}
