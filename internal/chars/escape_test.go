package chars

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// TestClipEscaped: an escaped text is clipped behind the last piece that fits, whatever is around it.
func TestClipEscaped(t *testing.T) {
	pieces := []string{
		"a", `\n`, `\\`, `\\`, "u", "é", `\x1b`, `\u202e`, `\\`, `\\`, `\\`, `\n`, `\U000e0041`, "😀", `\"`,
		`\ud83d\ude00`, `\uD83D\uDE00`, `\u0812`, `\ud7ff`, "b", `\udb40\udc41`, `\udb40\udc41`, `\\`, "世",
	}
	for first := range pieces {
		order := append(append([]string{}, pieces[first:]...), pieces[:first]...)
		text := strings.Join(order, "")
		for n := range len(text) + 2 {
			want := ""
			for _, p := range order {
				if len(want)+len(p) > n {
					break
				}
				want += p
			}
			require.Equal(t, want, ClipEscaped(text, n), "%d of %s", n, text)
			require.Equal(t, want, string(ClipEscaped([]byte(text), n)))
		}
	}
}

// FuzzClipEscaped: of any bytes, a prefix is left that is no longer than it may be, and no more than an escape or a character shorter.
func FuzzClipEscaped(f *testing.F) {
	f.Add(`\\\ud83d\ude00\`, 9)
	f.Add("\\\xff\xf0\x9f", 2)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n &= 0xff
		clipped := ClipEscaped(s, n)
		require.True(t, strings.HasPrefix(s, clipped))
		require.LessOrEqual(t, len(clipped), n)
		require.Greater(t, len(clipped)+maxEscape+maxEscape/2+utf8.UTFMax, min(n, len(s)))
	})
}

// TestPlainLen: each byte at each place of texts of each length.
func TestPlainLen(t *testing.T) {
	for n := range 26 {
		plain := strings.Repeat("a", n)
		require.Equal(t, n, PlainLen(plain))
		for i := range n {
			for c := range 256 {
				s := plain[:i] + string([]byte{byte(c)}) + plain[i+1:]
				want := n
				if c < ' ' || c > '~' || c == '\\' || c == '"' {
					want = i
				}
				if got := PlainLen(s); got != want {
					t.Fatalf("byte %#x at %d of %d: %d", c, i, n, got)
				}
				if i+1 < n { // what follows changes nothing
					s = s[:i+1] + "\xff" + s[i+2:]
					require.Equal(t, min(want, i+1), PlainLen(s))
				}
			}
		}
	}
}

// TestPrintableLen: what is written as it is, in words, behind words and between other characters.
func TestPrintableLen(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"a", true},
		{"é", true},
		{"世", true},
		{"😀", true},
		{"\ufffd", true},
		{"\u200d", true},
		{"\uee80", true},
		{"", true},
		{"\"", false},
		{"\\", false},
		{"\n", false},
		{"\x7f", false},
		{"\u0085", false},
		{"\u202e", false},
		{"\U000e0041", false},
		{"\xff", false},
		{"\xc3", false},
		{"\uef80", false},
	} {
		for _, before := range []string{"", "a", "12345678", "größe", "123456789é", "日本語日本語"} {
			for _, behind := range []string{"", "x", "ö", "12345678"} {
				s, want := before+c.text+behind, len(before)
				if c.want {
					want = len(s)
				}
				require.Equal(t, want, PrintableLen(s), "%q", s)
			}
		}
	}
}
