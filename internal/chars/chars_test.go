package chars

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
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

func TestClip(t *testing.T) {
	tests := []struct {
		text string
		n    int
		want int
	}{
		{"", 0, 0},
		{"abc", 5, 3},
		{"abc", 2, 2},
		{"日", 0, 0},
		{"日", 1, 0},
		{"日", 2, 0},
		{"日", 3, 3},
		{"a日", 2, 1},
		{"a😀b", 4, 1},
		{"a😀b", 5, 5},
		{"\x80\x80\x80\x80\x80\x80", 5, 5},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, len(Clip(tt.text, tt.n)), "%q %d", tt.text, tt.n)
		assert.Equal(t, tt.want, len(Clip([]byte(tt.text), tt.n)), "%q %d", tt.text, tt.n)
	}
}

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

// ignorable is Unicode's Default_Ignorable_Code_Point, derived as DerivedCoreProperties.txt says: characters that are
// invisible where a font does not know better.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector) &&
		!unicode.In(r, unicode.White_Space, unicode.Prepended_Concatenation_Mark) &&
		(r < 0xfff9 || r > 0xfffb) && (r < 0x13430 || r > 0x13440)
}

// needed reports whether ordinary text has r although it is ignorable: the joiners, and the variation selectors of
// Mongolian and of emoji.
func needed(r rune) bool {
	return r == 0x200c || r == 0x200d || r >= 0x180b && r <= 0x180d || r == 0x180f || r >= 0xfe00 && r <= 0xfe0f
}

// TestDeceptive compares all characters with Unicode's own properties.
func TestDeceptive(t *testing.T) {
	for r := rune(0x80); r <= unicode.MaxRune; r += rune(testscale.Count(1, 7)) {
		want := unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) ||
			ignorable(r) && !needed(r) || r >= 0xfff9 && r <= 0xfffb
		require.Equal(t, want, Deceptive(r), "%U", r)
	}
}

// FuzzDecode: characters are those of package utf8, in texts and in bytes, and a clipped text ends between two of them.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"a", "ä€\U0001f600", "\xff\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80\x80\x80\x80"} {
		f.Add(s, 2)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		for rest := s; rest != ""; {
			r, size := Decode(rest)
			want, wantSize := utf8.DecodeRuneInString(rest)
			assert.Equal(t, want, r)
			assert.Equal(t, wantSize, size)
			r, size = Decode([]byte(rest))
			assert.Equal(t, want, r)
			assert.Equal(t, wantSize, size)
			rest = rest[size:]
		}
		if n < 0 {
			return
		}
		clipped := Clip(s, n)
		assert.True(t, len(clipped) <= n && s[:len(clipped)] == clipped)
		assert.True(t, !utf8.ValidString(s) || utf8.ValidString(clipped))
	})
}
