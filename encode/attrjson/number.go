package attrjson

import (
	"math"
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
