package typed_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/encode/typed"
)

func TestPutIntegers(t *testing.T) {
	b := bytes.Repeat([]byte{0xEE}, 20)
	typed.PutU8(b, 1, 0x11)
	typed.PutU16(b, 2, 0x2122)
	typed.PutU32(b, 4, 0x41424344)
	typed.PutU64(b, 8, 0x8182838485868788)
	want := []byte{0xEE, 0x11}
	want = binary.NativeEndian.AppendUint16(want, 0x2122)
	want = binary.NativeEndian.AppendUint32(want, 0x41424344)
	want = binary.NativeEndian.AppendUint64(want, 0x8182838485868788)
	assert.Equal(t, append(want, 0xEE, 0xEE, 0xEE, 0xEE), b)
}

func TestPutText(t *testing.T) {
	tests := []struct {
		in, want string
		cut      int
	}{
		{"", "\x00\x00\x00\x00\x00\x00", 0},
		{"abc", "abc\x00\x00\x00", 0},
		{"abcdef", "abcdef", 0},
		{"abcdefg", "abc…", 4},
		{"a\nb", "a␊b\x00", 0},
		{"a\nbcd", "a…\x00\x00", 4},
		{"öööö", "ö…\x00", 6},
	}
	for _, tt := range tests {
		b := bytes.Repeat([]byte{0xEE}, 8)
		cut := typed.PutText(b, 1, 6, tt.in)
		assert.Equal(t, "\xee"+tt.want+"\xee", string(b), tt.in)
		assert.Equal(t, tt.cut, cut, tt.in)
	}
}

func TestPutTextCutBehindAControlCharacter(t *testing.T) {
	b := make([]byte, 7)
	cut := typed.PutText(b, 0, 7, "a\nbcdefgh")
	assert.Equal(t, "a␊…", string(b))
	assert.Equal(t, 7, cut)
}

func TestPutHex(t *testing.T) {
	for n := range 20 {
		id := make([]byte, n)
		for i := range id {
			id[i] = byte(i*37 + 0x9A)
		}
		b := bytes.Repeat([]byte{'-'}, 2*n+2)
		typed.PutHex(b, 1, id)
		assert.Equal(t, "-"+hex.EncodeToString(id)+"-", string(b))
	}
}

func TestPutUUID(t *testing.T) {
	b := bytes.Repeat([]byte{'.'}, typed.UUIDSize+1)
	typed.PutUUID(b, 1, [16]byte{0x6B, 0xA7, 0xB8, 0x10, 0x9D, 0xAD, 0x11, 0xD1, 0x80, 0xB4, 0x00, 0xC0, 0x4F, 0xD4, 0x30, 0xC8})
	assert.Equal(t, ".6ba7b810-9dad-11d1-80b4-00c04fd430c8.", string(b))
}

func TestBool(t *testing.T) {
	assert.Equal(t, uint8(1), typed.Bool(true))
	assert.Equal(t, uint8(0), typed.Bool(false))
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
		assert.Equal(t, tt.want, typed.UnixNano(tt.in), tt.in)
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
		assert.Equal(t, tt.want, typed.Scale(tt.v, tt.scale), "%v by %v", tt.v, tt.scale)
	}
}

func TestAppendFloat(t *testing.T) {
	tests := map[float64]string{
		0:                           "0",
		math.Copysign(0, -1):        "-0",
		0.1:                         "0.1",
		-2.5:                        "-2.5",
		1e6:                         "1000000",
		1e20:                        "100000000000000000000",
		1e21:                        "1e+21",
		1e-6:                        "0.000001",
		1e-7:                        "1e-07",
		math.MaxFloat64:             "1.7976931348623157e+308",
		math.Inf(1):                 "+Inf",
		math.Inf(-1):                "-Inf",
		math.SmallestNonzeroFloat64: "5e-324",
	}
	for v, want := range tests {
		assert.Equal(t, "x"+want, string(typed.AppendFloat([]byte("x"), v)))
	}
	assert.Equal(t, "NaN", string(typed.AppendFloat(nil, math.NaN())))
}

// Indexing outside a buffer panics; it must not write somewhere else.
func TestPutPanicsOutsideTheBuffer(t *testing.T) {
	b := []byte(strings.Repeat("x", 8))
	assert.Panics(t, func() { typed.PutU64(b, 1, 0) })
	assert.Panics(t, func() { typed.PutU64(b[:4], 0, 0) })
	assert.Panics(t, func() { typed.PutText(b[:4], 0, 5, "") })
	assert.Panics(t, func() { typed.PutHex(b[:4], 0, []byte("abc")) })
	assert.Panics(t, func() { typed.PutUUID(b, 0, [16]byte{}) })
	assert.Equal(t, "xxxxxxxx", string(b))
}
