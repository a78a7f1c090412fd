package chars

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every byte at every place of strings of every length that takes a path of its own.
func TestCopyPlain(t *testing.T) {
	const longest, at = 26, 3
	for n := range longest + 1 {
		plain := strings.Repeat("a", n)
		fill := bytes.Repeat([]byte{0xEE}, at+longest+16)
		b := bytes.Clone(fill)
		require.True(t, CopyPlain(b, at, plain), n)
		require.Equal(t, plain, string(b[at:at+n]))
		require.Equal(t, fill[:at], b[:at])
		require.Equal(t, fill[at+n:], b[at+n:], "writes beyond the string")
		for i := range n {
			for c := range 256 {
				s := plain[:i] + string([]byte{byte(c)}) + plain[i+1:]
				want := c >= ' ' && c < 0x7F && c != '\\'
				if got := CopyPlain(b, at, s); got != want {
					t.Fatalf("byte %#x at %d of %d: %v", c, i, n, got)
				}
				if want && string(b[at:at+n]) != s {
					t.Fatalf("byte %#x at %d of %d: copied as %q", c, i, n, b[at:at+n])
				}
			}
		}
	}
}

func TestCopyPlainWithoutRoom(t *testing.T) {
	for n := range 40 {
		s := strings.Repeat("a", n)
		for size := range 60 {
			for at := range size + 1 {
				want := size-at >= max(n, 16)
				if got := CopyPlain(make([]byte, size), at, s); got != want {
					t.Fatalf("%d bytes at %d of %d: %v", n, at, size, got)
				}
			}
		}
	}
	require.False(t, CopyPlain(make([]byte, 60), -1, "a"))
}

// A borrow or carry from one byte into the next must not hide what is there.
func TestCopyPlainPairs(t *testing.T) {
	b := make([]byte, 40)
	for x := range 256 {
		for y := range 256 {
			pair := string([]byte{byte(x), byte(y)})
			want := x >= ' ' && x < 0x7F && y >= ' ' && y < 0x7F && x != '\\' && y != '\\'
			for _, s := range []string{pair, "ab" + pair, "abc" + pair + "def", "0123456789" + pair + "6789abcdef"} {
				if got := CopyPlain(b, 0, s); got != want {
					t.Fatalf("bytes %#x %#x in %q: %v", x, y, s, got)
				}
			}
		}
	}
}
