package attrjson

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"time"
)

// AppendFloat appends f as the shortest JSON number that reads back as f, in the form that
// encoding/json chooses. NaN and the infinities have no JSON number: they become
// the strings "NaN", "Infinity" and "-Infinity".
func AppendFloat(dst []byte, f float64) []byte { return appendFloat(dst, f, 64) }

func appendFloat(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	abs := math.Abs(f)
	small, large := 1e-6, 1e21
	if bits == 32 {
		small, large = float64(float32(small)), float64(float32(large))
	}
	if abs == 0 || small <= abs && abs < large {
		return strconv.AppendFloat(dst, f, 'f', -1, bits)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
	// strconv writes two digits of exponent at least: e-09 becomes e-9.
	if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// AppendTime appends t in quotes, in the format [time.RFC3339Nano]. A year
// beyond 9999 is written with more digits, which RFC 3339 does not know.
func AppendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	dst = t.AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"')
}

// putInt puts v, with a comma behind it.
func putInt(b []byte, i int, v int64) int {
	if v >= 0 {
		return putUint(b, i, uint64(v))
	}
	if i >= len(b) {
		return 0
	}
	b[i] = '-'
	return putUint(b, i+1, -uint64(v))
}

// putUint puts v, with a comma behind it.
func putUint(b []byte, i int, v uint64) int {
	if v >= 1e8 {
		if i = putUint(b, i, v/1e8) - len(`,`); i < 0 {
			return 0
		}
		return putDigits(b, i, eightDigits(v%1e8), 0)
	}
	d := eightDigits(v)
	return putDigits(b, i, d, bits.TrailingZeros64(d|1<<56)/8)
}

// putDigits puts what eightDigits returned without the first skip digits.
func putDigits(b []byte, i int, digits uint64, skip int) int {
	if i+9 > len(b) {
		return 0
	}
	t := (*[9]byte)(b[i : i+9])
	binary.LittleEndian.PutUint64(t[:8], (digits|0x3030303030303030)>>(skip*8&63))
	t[8-skip] = ','
	return i + 9 - skip
}

// eightDigits returns the decimal digits of v, which is below 1e8, one in each byte and the first
// in the lowest. Each step splits all numbers in the word at once: into two of
// four digits, four of two, eight of one. The multiplications divide by 100 and by 10,
// rounding down correctly in the range they are used for.
func eightDigits(v uint64) uint64 {
	v = v/1e4 | v%1e4<<32
	q := v * 10486 >> 20 & 0x7f_0000007f
	v = q | (v-q*100)<<16
	q = v * 103 >> 10 & 0x0f000f_000f000f
	return q | (v-q*10)<<8
}

// putBool puts v, with a comma behind it.
func putBool(b []byte, i int, v bool) int {
	if len("false,") > len(b)-i {
		return 0
	}
	b = b[i : i+len("false,")]
	if v {
		binary.LittleEndian.PutUint32(b, 't'|'r'<<8|'u'<<16|'e'<<24)
		b[4] = ','
		return i + len("true,")
	}
	binary.LittleEndian.PutUint32(b, 'f'|'a'<<8|'l'<<16|'s'<<24)
	b[4], b[5] = 'e', ','
	return i + len("false,")
}
