package typed

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every byte at every place of strings of every length that takes a path of its own.
func TestCopyPrintable(t *testing.T) {
	const longest = 26
	for n := range longest + 1 {
		plain := strings.Repeat("a", n)
		b := bytes.Repeat([]byte{0xEE}, n+1)
		require.True(t, copyPrintable(b[:n], plain), n)
		require.Equal(t, plain, string(b[:n]))
		require.Equal(t, byte(0xEE), b[n], "writes beyond the string")
		for i := range n {
			for c := range 256 {
				s := plain[:i] + string([]byte{byte(c)}) + plain[i+1:]
				want := c >= ' ' && c < 0x7F
				if got := copyPrintable(b, s); got != want {
					t.Fatalf("byte %#x at %d of %d: %v", c, i, n, got)
				}
				if want && string(b[:n]) != s {
					t.Fatalf("byte %#x at %d of %d: copied as %q", c, i, n, b[:n])
				}
			}
		}
	}
}

// A borrow or carry from one byte into the next must not hide what is there.
func TestCopyPrintablePairs(t *testing.T) {
	b := make([]byte, 8)
	for x := range 256 {
		for y := range 256 {
			s := "abc" + string([]byte{byte(x), byte(y)}) + "def"
			want := x >= ' ' && x < 0x7F && y >= ' ' && y < 0x7F
			if got := copyPrintable(b, s); got != want {
				t.Fatalf("bytes %#x %#x: %v", x, y, got)
			}
		}
	}
}

func TestHexDigits(t *testing.T) {
	assert.Equal(t, "0123456789abcdef", string([]byte{
		byte(hexDigits(0x0) >> 0), byte(hexDigits(0x1)), byte(hexDigits(0x2)), byte(hexDigits(0x3)),
		byte(hexDigits(0x4)), byte(hexDigits(0x5)), byte(hexDigits(0x6)), byte(hexDigits(0x7)),
		byte(hexDigits(0x8)), byte(hexDigits(0x9)), byte(hexDigits(0xA)), byte(hexDigits(0xB)),
		byte(hexDigits(0xC)), byte(hexDigits(0xD)), byte(hexDigits(0xE)), byte(hexDigits(0xF)),
	}))
	assert.Equal(t, uint64(0x6465616462656566), hexDigits(0xDEADBEEF), "deadbeef in ASCII")
	assert.Equal(t, uint64(0x3031323334353637), hexDigits(0x01234567))
}
