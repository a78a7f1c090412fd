package reader

import (
	"encoding/hex"
	"math"
	"time"

	"github.com/userevents/userevents-go/encode/text"
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
	if _, err := hex.Decode(id, digits); err != nil {
		clear(id)
		return false
	}
	return true
}

// unixNano returns the time of nanoseconds since 1970. 0 is the zero time.
func unixNano(ns uint64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(int64(ns/1e9), int64(ns%1e9)).UTC()
}

// count returns a count that a program wrote, limited to 32 bits.
func count(n uint64) uint32 { return uint32(min(n, math.MaxUint32)) }
