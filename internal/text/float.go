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
	if bits == 64 {
		if out, ok := appendDecimal(dst, v); ok {
			return out
		}
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
	// strconv writes two digits of exponent at least: e-09 becomes e-9. Large numbers have an exponent of 21 at least.
	if n := len(dst); dst[n-4] == 'e' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// appendDecimal appends v if it is a number of at most 15 digits, 9 of them behind the point, and not an integer, as most
// fractions in logs are. No two such numbers have the same float, so the digits are the shortest ones, and strconv would
// find them more slowly.
func appendDecimal(dst []byte, v float64) (out []byte, ok bool) {
	const scale, large, small = 1e9, 1e6, 1e-6
	abs := math.Abs(v)
	if !(abs >= small && abs < large) {
		return dst, false
	}
	n := uint64(abs*scale + 0.5)
	if float64(n)/scale != abs { // both are exact, so this is the float that is nearest to the quotient
		return dst, false
	}
	if math.Signbit(v) {
		dst = append(dst, '-')
	}
	dst = strconv.AppendUint(dst, n/scale, 10)
	point := len(dst)
	dst = strconv.AppendUint(dst, n%scale+scale, 10) // a one and all nine digits
	dst[point] = '.'
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst, true
}
