package text

import (
	"math"
	"strconv"
)

// AppendFloat appends the shortest decimal number that reads back as v, in the form that encoding/json
// chooses, such as 0.25, 1e+21 or 1e-9: at most 25 bytes. bits is 32 or 64, the size of the number that v was
// converted from. NaN and the infinities are written as OpenTelemetry names them in JSON: NaN, Infinity and
// -Infinity.
func AppendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	// Most bounds and many values are integers, which strconv formats in a fraction of the time. Up to here each has its
	// own floating-point number, so all its digits are the shortest form.
	if n := int64(v); bits == 64 && -1<<53 < n && n < 1<<53 && float64(n) == v && (n != 0 || !math.Signbit(v)) {
		return strconv.AppendInt(dst, n, 10)
	}
	abs := math.Abs(v)
	small, large := 1e-6, 1e21
	if bits == 32 {
		small, large = float64(float32(small)), float64(float32(large))
	}
	if abs == 0 || small <= abs && abs < large {
		return strconv.AppendFloat(dst, v, 'f', -1, bits)
	}
	dst = strconv.AppendFloat(dst, v, 'e', -1, bits)
	// strconv writes two digits of exponent at least: e-09 becomes e-9.
	if n := len(dst); dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}
