package typedfield_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/userevents/userevents-go/internal/typedfield"
)

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
