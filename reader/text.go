package reader

import (
	"math"
	"time"

	"github.com/userevents/userevents-go/internal/text"
)

// plain returns a text without the escapes of package text. It shares the memory of b if there are none.
func plain(b []byte) string { return text.Unescape(stringOf(b)) }

// setID sets an id from hexadecimal digits. An empty text leaves it unchanged. It returns false if the digits are not
// such an id.
func setID(id []byte, digits []byte) bool {
	if len(digits) == 0 {
		return true
	}
	if len(digits) != 2*len(id) {
		return false
	}
	var bad byte
	for i := range id {
		high, low := digitValues[digits[2*i]], digitValues[digits[2*i+1]]
		bad |= high | low
		id[i] = high<<4 | low
	}
	if bad == noDigit {
		clear(id)
	}
	return bad != noDigit
}

// digitValues has the value of each hexadecimal digit, and noDigit, which has bits that no value has, for other bytes.
var digitValues = func() (values [256]byte) {
	for c := range values {
		values[c] = noDigit
	}
	for v, c := range "0123456789abcdef" {
		values[c] = byte(v)
	}
	for v, c := range "ABCDEF" {
		values[c] = byte(10 + v)
	}
	return values
}()

const noDigit = 0xff

// unixNano returns the time of nanoseconds since 1970. 0 is the zero time.
func unixNano(ns uint64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(int64(ns/1e9), int64(ns%1e9)).UTC()
}

// count returns a count that a program wrote, limited to 32 bits.
func count(n uint64) uint32 { return uint32(min(n, math.MaxUint32)) }
