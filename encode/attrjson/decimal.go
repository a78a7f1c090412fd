package attrjson

import "math/bits"

// pairs holds the decimal numbers from 00 to 99.
const pairs = "00010203040506070809" +
	"10111213141516171819" +
	"20212223242526272829" +
	"30313233343536373839" +
	"40414243444546474849" +
	"50515253545556575859" +
	"60616263646566676869" +
	"70717273747576777879" +
	"80818283848586878889" +
	"90919293949596979899"

var powersOf10 = [20]uint64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
	1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
}

// decimalLen returns the number of decimal digits of v.
func decimalLen(v uint64) int {
	// 1233/4096 is the logarithm of 2 to base 10. It gives a power of 10 that is right or one
	// too high.
	n := bits.Len64(v|1) * 1233 >> 12
	if v|1 < powersOf10[n%len(powersOf10)] {
		return n
	}
	return n + 1
}

// putDecimal fills b with the decimal digits of v. Knowing their number before
// is what strconv does not offer: it would need a buffer of its own and a copy.
func putDecimal(b []byte, v uint64) {
	i := len(b)
	for v >= 100 {
		q := v / 100
		p := (v - q*100) * 2
		v = q
		i -= 2
		b[i], b[i+1] = pairs[p], pairs[p+1]
	}
	if v >= 10 {
		b[0], b[1] = pairs[v*2], pairs[v*2+1]
		return
	}
	b[0] = '0' + byte(v)
}
