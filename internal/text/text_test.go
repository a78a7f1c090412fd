package text_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/text"
)

var texts = []struct{ name, in, want string }{
	{"empty", "", ""},
	{"plain", "hello, world", "hello, world"},
	{"all printable ASCII", " !\"#$%&'()*+,-./0123456789:;<=>?@AZ[]^_`az{|}~", " !\"#$%&'()*+,-./0123456789:;<=>?@AZ[]^_`az{|}~"},
	{"backslash", `C:\new`, `C:\\new`},
	{"other scripts", "größe 名前 🙂 नमस्ते", "größe 名前 🙂 नमस्ते"},
	{"joiners", "می\u200cخواهم 👩\u200d🚀", "می\u200cخواهم 👩\u200d🚀"},
	{"newline", "one\ntwo", `one\ntwo`},
	{"newlines only", "\r\n", `\r\n`},
	{"tab", "a\tb", `a\tb`},
	{"NUL", "a\x00b", `a\x00b`},
	{"other controls", "\a\b\v\f", `\x07\x08\x0b\x0c`},
	{"escape sequence", "\x1b[2Jgone", `\x1b[2Jgone`},
	{"DEL", "a\x7fb", `a\x7fb`},
	{"C1 control", "a\u009b31mb", `a\u009b31mb`},
	{"next line", "a\u0085b", `a\u0085b`},
	{"line and paragraph separators", "a\u2028b\u2029c", `a\u2028b\u2029c`},
	{"right-to-left override", "user\u202e// admin", `user\u202e// admin`},
	{"isolates and marks", "\u2066a\u2069\u200e\u200f\u061c", `\u2066a\u2069\u200e\u200f\u061c`},
	{"invisible", "a\u200bb\u00ad\ufeff", `a\u200bb\u00ad\ufeff`},
	{"tags", "hi\U000e0001\U000e0068\U000e007f", `hi\U000e0001\U000e0068\U000e007f`},
	{"variation selectors beyond the basic plane", "a\U000e0100b", `a\U000e0100b`},
	{"fillers", "\u3164\uffa0\u115f", `\u3164\uffa0\u115f`},
	{"format controls of music and shorthand", "\U0001d173\U0001bca0", `\U0001d173\U0001bca0`},
	{"emoji and their variation selector", "\u2764\ufe0f \U0001f600", "\u2764\ufe0f \U0001f600"},
	{"no-break space is no control", "a\u00a0b", "a\u00a0b"},
	{"invalid byte", "a\xffb", `a\xffb`},
	{"cut sequence", "a\xe2\x82", `a\xe2\x82`},
	{"surrogate", "a\xed\xa0\x80b", `a\xed\xa0\x80b`},
	{"replacement character", "a\ufffdb", "a\ufffdb"},
	{"mixed", "名\n\xff字\x00", `名\n\xff字\x00`},
	{"what looks like an escape", `\n\xff\u202e\U000e0001`, `\\n\\xff\\u202e\\U000e0001`},
}

func TestAppend(t *testing.T) {
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			out, cut := text.Append([]byte("x"), tt.in, math.MaxInt)
			assert.Equal(t, "x"+tt.want, string(out))
			assert.Zero(t, cut)
			assert.Equal(t, tt.in, text.Unescape(tt.want))
			assert.Equal(t, tt.want, text.Printable(tt.want), "printing what was escaped changes nothing")
		})
	}
}

func TestAppendCut(t *testing.T) {
	tests := []struct {
		name, in string
		max      int
		want     string
		cut      int
	}{
		{"fits exactly", "hello", 5, "hello", 0},
		{"one too long", "hello!", 5, "he...", 4},
		{"room for the mark only", "hello", 3, "...", 5},
		{"no room for the mark", "hello", 2, "", 5},
		{"no room", "hello", 0, "", 5},
		{"negative room", "hello", -1, "", 5},
		{"empty in no room", "", -1, "", 0},
		{"two-byte character fits", "aöb!!!", 6, "aö...", 4},
		{"two-byte character does not fit", "aaö!!!", 6, "aa...", 5},
		{"three-byte characters", "名前です", 9, "名前...", 6},
		{"four-byte character", "a🙂bcdef", 8, "a🙂...", 5},
		{"fits as it is, not with escapes", "a\nb", 3, "...", 3},
		{"with escapes, exactly", "a\nb", 4, `a\nb`, 0},
		{"escape at the cut", "ab\ncdef", 7, `ab\n...`, 4},
		{"escape does not fit", "abc\ncdef", 7, `abc...`, 5},
		{"long escape does not fit", "ab\u202ecdef", 10, `ab...`, 7},
		{"long escape fits", "ab\u202ecdef", 11, `ab\u202e...`, 4},
		{"longest escape does not fit", "ab\U000e0001cdef", 14, `ab...`, 8},
		{"longest escape fits", "ab\U000e0001cdef", 15, `ab\U000e0001...`, 4},
		{"invalid bytes count one by one", "\xff\xff\xff\xff", 11, `\xff\xff...`, 2},
		{"long", strings.Repeat("x", 100000), 10, "xxxxxxx...", 99993},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, cut := text.Append([]byte("<"), tt.in, tt.max)
			assert.Equal(t, "<"+tt.want, string(out))
			assert.Equal(t, tt.cut, cut)
		})
	}
}

// A buffer that has room for max bytes is never left, so that a caller may put a text between other things.
func TestAppendStaysWithinCapacity(t *testing.T) {
	for _, tt := range texts {
		for max := range len(tt.want) + 2 {
			room := make([]byte, max)
			out, _ := text.Append(room[:0:max], tt.in, max)
			require.LessOrEqual(t, len(out), max)
			require.Equal(t, string(out), string(room[:len(out)]), "%s, %d", tt.name, max)
		}
	}
}

// The escapes are those of Go.
func TestEscapesAreGo(t *testing.T) {
	for _, tt := range texts {
		unquoted, err := strconv.Unquote(`"` + strings.ReplaceAll(tt.want, `"`, `\"`) + `"`)
		require.NoError(t, err, tt.want)
		require.Equal(t, tt.in, unquoted)
	}
}

// Every character is escaped or printed as Unicode's own properties demand.
func TestEveryCharacter(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		out, _ := text.Append(nil, string(r), math.MaxInt)
		if escaped := string(out) != string(r); escaped == (mustEscape(r) || r == '\\') {
			continue
		} else if !escaped || unicode.IsGraphic(r) && !unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) {
			t.Fatalf("%U: %s", r, out)
		}
	}
}

// mustEscape reports whether a character controls a terminal, ends a line, reorders text or is a tag.
func mustEscape(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp) || r >= 0xe0000 && r <= 0xe007f
}

func TestUnescapeOfOtherTexts(t *testing.T) {
	for in, want := range map[string]string{
		`\`: `\`, `a\`: `a\`, `\q`: `\q`, `\x`: `\x`, `\x1`: `\x1`, `\xzz`: `\xzz`, `\u12`: `\u12`, `\ud800`: `\ud800`,
		`\U000e000`: `\U000e000`, `\U00110000`: `\U00110000`, `\Uffffffff`: `\Uffffffff`, `\U0000d800`: `\U0000d800`, `\U0001F600`: "\U0001f600",
		`\\`: `\`, `\\\`: `\\`, `\x41\u00e4`: "Aä", `\"`: `\"`, `\u+123`: `\u+123`, `cut\n...`: "cut\n...",
	} {
		assert.Equal(t, want, text.Unescape(in), in)
	}
}

func TestAppendPrintable(t *testing.T) {
	assert.Equal(t, `<a\n\x1b\\\xff`, string(text.AppendPrintable([]byte("<"), "a\n\x1b\\\\\xff")))
}

func FuzzAppend(f *testing.F) {
	for _, tt := range texts {
		f.Add(tt.in, len(tt.in))
		f.Add(tt.in, len(tt.in)/2)
	}
	f.Fuzz(func(t *testing.T, s string, max int) {
		whole, none := text.Append(nil, s, math.MaxInt)
		require.Zero(t, none)
		require.Equal(t, s, text.Unescape(string(whole)))
		requirePrintable(t, whole)
		requirePrintable(t, text.AppendPrintable(nil, s))
		require.Equal(t, string(whole), string(text.AppendPrintable(nil, string(whole))))

		out, cut := text.Append(nil, s, max)
		requirePrintable(t, out)
		require.LessOrEqual(t, len(out), nonNegative(max))
		require.LessOrEqual(t, cut, len(s))
		kept, marked := strings.CutSuffix(string(out), text.CutMark)
		switch {
		case cut == 0:
			require.Equal(t, string(whole), string(out))
		case len(out) == 0:
			require.Less(t, max, len(text.CutMark))
			require.Equal(t, len(s), cut)
		default:
			require.True(t, marked)
			require.Equal(t, s[:len(s)-cut], text.Unescape(kept), "cut between two characters and escapes")
			require.Greater(t, len(whole), max)
		}
	})
}

func requirePrintable(t *testing.T, b []byte) {
	t.Helper()
	require.True(t, utf8.Valid(b))
	for _, r := range string(b) {
		require.False(t, mustEscape(r), "%q", b)
	}
}

// nonNegative is the length that max allows a text.
func nonNegative(n int) int { return max(n, 0) }

func TestAppendFloat(t *testing.T) {
	for want, v := range map[string]float64{
		"0": 0, "-0": math.Copysign(0, -1), "0.25": 0.25, "1e+21": 1e21, "1e-9": 1e-9, "123456789": 123456789, "0.000001": 1e-6,
		"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1), "1.7976931348623157e+308": math.MaxFloat64,
		"1e-10": 1e-10, "-2.5e-99": -2.5e-99, "1e-100": 1e-100, "5e-101": 5e-101, "1e+100": 1e100, "-1.5e-7": -1.5e-7, "9.99e-7": 9.99e-7,
	} {
		assert.Equal(t, "x"+want, string(text.AppendFloat([]byte("x"), v, 64)))
	}
	assert.Equal(t, "0.1", string(text.AppendFloat(nil, float64(float32(0.1)), 32)))
	// A number of 32 bits is written as such at both ends of the range without exponent.
	for want, v := range map[string]float32{"0.000001": 1e-6, "9.999999e-7": 9.999999e-7, "0.5": 0.5, "262143.98": 262143.984375, "0.33333334": 1.0 / 3, "1e+21": 1e21, "999999950000000000000": 9.9999995e20, "1.5e+30": 1.5e30} {
		assert.Equal(t, want, string(text.AppendFloat(nil, float64(v), 32)))
		b, err := json.Marshal(v)
		require.NoError(t, err)
		assert.Equal(t, want, string(b))
	}
	assert.Len(t, text.AppendFloat(nil, -1.2345678901234567e-6, 64), 25, "the longest number")
	assert.Equal(t, "0.10000000149011612", string(text.AppendFloat(nil, float64(float32(0.1)), 64)))
}

// TestAppendFloatOfIntegers: integers have the digits that strconv gives floating-point numbers.
func TestAppendFloatOfIntegers(t *testing.T) {
	for shift := range 63 {
		for _, add := range []int64{-1, 0, 1, 10, 12345} {
			v := float64(1<<shift + add)
			for _, v := range []float64{v, -v, v + 0.5, math.Nextafter(v, 0)} {
				assert.Equal(t, strconv.FormatFloat(v, 'f', -1, 64), string(text.AppendFloat(nil, v, 64)))
			}
		}
	}
	assert.Equal(t, "123456790", string(text.AppendFloat(nil, float64(float32(123456789)), 32)))
}

// TestAppendFloatOfDecimals: short decimal numbers, and those next to them, have the digits that strconv gives them.
func TestAppendFloatOfDecimals(t *testing.T) {
	want := func(v float64) string {
		if abs := math.Abs(v); abs != 0 && abs < 1e-6 {
			b, err := json.Marshal(v)
			require.NoError(t, err)
			return string(b)
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range testscale.Count(200_000, 5_000) {
		v := float64(r.Int64N(1<<r.IntN(54)+1)) / math.Pow10(r.IntN(16))
		for _, v := range []float64{v, -v, math.Nextafter(v, 0), math.Nextafter(v, 1e300), r.Float64() * v} {
			require.Equal(t, want(v), string(text.AppendFloat(nil, v, 64)))
		}
	}
	for _, v := range []float64{1e6 + 0.5, 1e6 - 0.5, 999999.999999999, 999999.9999999999, 1e-6, 1.5e-6, 1e-6 + 1e-9, 1e-6 - 1e-9, 0.000001001, 0.1 + 0.2, 1.0 / 3} {
		require.Equal(t, want(v), string(text.AppendFloat(nil, v, 64)))
		require.Equal(t, want(-v), string(text.AppendFloat(nil, -v, 64)))
	}
}

// TestFirstAndLastOfEachEscape: characters at the ends of the ranges that have an escape of one length.
func TestFirstAndLastOfEachEscape(t *testing.T) {
	for s, want := range map[string]string{
		"\x00": `\x00`, "\x7f": `\x7f`, "\u0080": `\u0080`, "\u009f": `\u009f`, "\U000e0001": `\U000e0001`,
	} {
		out, cut := text.Append(nil, s, math.MaxInt)
		assert.Equal(t, want, string(out))
		assert.Zero(t, cut)
		assert.Equal(t, s, text.Unescape(string(out)))
		_, cut = text.Append(nil, s, len(want)-1)
		assert.Equal(t, len(s), cut)
	}
}

func TestAppendPrintableIntoABuffer(t *testing.T) {
	assert.Equal(t, "xyzplain", string(text.AppendPrintable(append(make([]byte, 0, 100), "xyz"...), "plain")))
}

func ExampleAppend() {
	b, cut := text.Append(nil, "one\ntwo\x1b[2J", 100)
	fmt.Printf("%s %d\n", b, cut)
	fmt.Printf("%q\n", text.Unescape(string(b)))
	b, cut = text.Append(nil, "a long story", 8)
	fmt.Printf("%s %d\n", b, cut)
	// Output:
	// one\ntwo\x1b[2J 0
	// "one\ntwo\x1b[2J"
	// a lon... 7
}

func ExampleAppendPrintable() {
	// A name that another program chose, with an escape of its own and a newline.
	fmt.Printf("%s\n", text.AppendPrintable(nil, `C:\\temp`+"\n"))
	// Output: C:\\temp\n
}

func ExampleAppendFloat() {
	b := text.AppendFloat(nil, 0.25, 64)
	b = text.AppendFloat(append(b, ' '), float64(float32(0.1)), 32)
	b = text.AppendFloat(append(b, ' '), math.Inf(-1), 64)
	fmt.Printf("%s\n", b)
	// Output: 0.25 0.1 -Infinity
}
