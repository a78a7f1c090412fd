package typed_test

import (
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
)

var texts = []struct{ name, in, want string }{
	{"empty", "", ""},
	{"plain", "hello, world", "hello, world"},
	{"all printable ASCII", " !\"#$%&'()*+,-./0123456789:;<=>?@AZ[\\]^_`az{|}~", " !\"#$%&'()*+,-./0123456789:;<=>?@AZ[\\]^_`az{|}~"},
	{"other scripts", "größe 名前 🙂", "größe 名前 🙂"},
	{"newline", "one\ntwo", "one␊two"},
	{"newlines only", "\r\n", "␍␊"},
	{"tab", "a\tb", "a␉b"},
	{"NUL", "a\x00b", "a␀b"},
	{"escape sequence", "\x1b[2Jgone", "␛[2Jgone"},
	{"DEL", "a\x7fb", "a␡b"},
	{"C1 control", "a\u009b31mb", "a\ufffd31mb"},
	{"next line", "a\u0085b", "a\ufffdb"},
	{"line and paragraph separators", "a\u2028b\u2029c", "a\ufffdb\ufffdc"},
	{"no-break space is no control", "a\u00a0b", "a\u00a0b"},
	{"invalid byte", "a\xffb", "a\ufffdb"},
	{"cut sequence", "a\xe2\x82", "a\ufffd\ufffd"},
	{"surrogate", "a\xed\xa0\x80b", "a\ufffd\ufffd\ufffdb"},
	{"replacement character", "a\ufffdb", "a\ufffdb"},
	{"a picture stays", "a␊b", "a␊b"},
	{"mixed", "名\n\xff字\x00", "名␊\ufffd字␀"},
}

func TestAppendText(t *testing.T) {
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			out, cut := typed.AppendText([]byte("x"), tt.in, math.MaxInt)
			assert.Equal(t, "x"+tt.want, string(out))
			assert.Zero(t, cut)

			again, _ := typed.AppendText(nil, tt.want, math.MaxInt)
			assert.Equal(t, tt.want, string(again), "replacing what was replaced changes nothing")
		})
	}
}

func TestAppendTextCut(t *testing.T) {
	tests := []struct {
		name, in string
		max      int
		want     string
		cut      int
	}{
		{"fits exactly", "hello", 5, "hello", 0},
		{"one too long", "hello!", 5, "he…", 4},
		{"room for the mark only", "hello", 3, "…", 5},
		{"no room for the mark", "hello", 2, "", 5},
		{"no room", "hello", 0, "", 5},
		{"negative room", "hello", -1, "", 5},
		{"empty in no room", "", -1, "", 0},
		{"two-byte character fits", "aöb!!!", 6, "aö…", 4},
		{"two-byte character does not fit", "aaö!!!", 6, "aa…", 5},
		{"three-byte characters", "名前です", 9, "名前…", 6},
		{"four-byte character", "a🙂bcdef", 8, "a🙂…", 5},
		{"fits as it is, not with replacements", "a\nb", 4, "a…", 2},
		{"with replacements, exactly", "a\nb", 5, "a␊b", 0},
		{"replacement at the cut", "ab\ncdef", 8, "ab␊…", 4},
		{"invalid bytes count one by one", "\xff\xff\xff\xff", 9, "\ufffd\ufffd…", 2},
		{"long", strings.Repeat("x", 100000), 10, "xxxxxxx…", 99993},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, cut := typed.AppendText([]byte("<"), tt.in, tt.max)
			assert.Equal(t, "<"+tt.want, string(out))
			assert.Equal(t, tt.cut, cut)
		})
	}
}

// A buffer that has room for max bytes is never left, so that a caller may put a text between other things.
func TestAppendTextStaysWithinCapacity(t *testing.T) {
	for _, tt := range texts {
		for max := range len(tt.want) + 2 {
			room := make([]byte, max)
			out, _ := typed.AppendText(room[:0:max], tt.in, max)
			require.LessOrEqual(t, len(out), max)
			require.Equal(t, string(out), string(room[:len(out)]), "%s, %d", tt.name, max)
		}
	}
}

func TestCutText(t *testing.T) {
	tests := []struct {
		in   string
		max  int
		want string
		cut  int
	}{
		{"hello", 5, "hello", 0},
		{"hello", 4, "h…", 4},
		{"hello", 3, "…", 5},
		{"hello", 2, "", 5},
		{"hello", -1, "", 5},
		{"", 0, "", 0},
		{"", -1, "", 0},
		{"aöbc", 5, "aöbc", 0},
		{"aöbcd", 5, "a…", 5},
		{"名前です", 11, "名前…", 6},
	}
	for _, tt := range tests {
		out, cut := typed.CutText([]byte("<"+tt.in), 1, tt.max)
		assert.Equal(t, "<"+tt.want, string(out), "%q, %d", tt.in, tt.max)
		assert.Equal(t, tt.cut, cut, "%q, %d", tt.in, tt.max)
	}
}

func FuzzAppendText(f *testing.F) {
	for _, tt := range texts {
		f.Add(tt.in, len(tt.in))
		f.Add(tt.in, len(tt.in)/2)
	}
	f.Fuzz(func(t *testing.T, s string, max int) {
		out, cut := typed.AppendText(nil, s, max)
		require.True(t, utf8.Valid(out))
		require.LessOrEqual(t, len(out), nonNegative(max))
		for _, r := range string(out) {
			require.False(t, unicode.IsControl(r) || r == '\u2028' || r == '\u2029', "%q", out)
		}
		require.LessOrEqual(t, cut, len(s))
		whole, none := typed.AppendText(nil, s, math.MaxInt)
		require.Zero(t, none)
		kept, marked := strings.CutSuffix(string(out), typed.CutMark)
		switch {
		case cut == 0:
			require.Equal(t, string(whole), string(out))
		case len(out) == 0:
			require.Less(t, max, len(typed.CutMark))
			require.Equal(t, len(s), cut)
		default:
			require.True(t, marked)
			begin, _ := typed.AppendText(nil, s[:len(s)-cut], math.MaxInt)
			require.Equal(t, string(begin), kept)
			require.Greater(t, len(whole), max)
		}
	})
}

// nonNegative is the length that max allows a text.
func nonNegative(max int) int {
	if max < 0 {
		return 0
	}
	return max
}
