package attrjson_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/testscale"
)

// Buffers with room and without take different ways. These tests try both, for values of every
// length that is treated in its own way.

// withRoom writes one attribute as encode does, but into a buffer that has room.
func withRoom(a slog.Attr) string {
	const fill = 0xEE
	all := bytes.Repeat([]byte{fill}, 500)
	w := attrjson.Begin(all[:1], 400)
	w.Attr(a)
	buf, _ := w.End(attrjson.KeepAll)
	if &buf[0] != &all[0] || all[0] != fill || all[401] != fill {
		return "written beyond the limit"
	}
	return string(buf[1:])
}

// quoted is what the package comment says of a string.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"): // a byte that is not valid UTF-8
			fmt.Fprintf(&b, `\uef%02x`, s[i])
		case r == '"', r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ', 0x7f <= r && r <= 0x9f:
			short, found := map[rune]string{'\b': `\b`, '\t': `\t`, '\n': `\n`, '\f': `\f`, '\r': `\r`}[r]
			if !found {
				short = fmt.Sprintf(`\u%04x`, r)
			}
			b.WriteString(short)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// Every byte at every place of strings of every length, as value and as key.
func TestEveryByte(t *testing.T) {
	testscale.HostOnly(t)
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"
	for n := 0; n <= len(letters); n += testscale.Count(1, 5) {
		for i := range max(n, 1) {
			for c := range 256 {
				s := letters[:n]
				if n > 0 {
					s = s[:i] + string([]byte{byte(c)}) + s[i+1:]
				}
				text := quoted(s)
				grown, _ := encode(400, slog.String("k", s))
				for _, got := range []string{withRoom(slog.String("k", s)), grown} {
					if want := `{"k":` + text + `}`; got != want {
						t.Fatalf("byte %#x at %d of %d: %s, not %s", c, i, n, got, want)
					}
				}
				if got, want := withRoom(slog.Bool(s, true)), `{`+text+`:true}`; got != want {
					t.Fatalf("key with byte %#x at %d of %d: %s, not %s", c, i, n, got, want)
				}
			}
		}
	}
}

// A borrow or carry from one byte into the next must not hide what is there.
func TestEveryPairOfBytes(t *testing.T) {
	testscale.HostOnly(t)
	for x := range 256 {
		for y := 0; y < 256; y += testscale.Count(1, 5) {
			pair := string([]byte{byte(x), byte(y)})
			if utf8.ValidString(pair) && (x >= 0x80 || y >= 0x80) {
				continue // a character
			}
			for _, s := range []string{pair, "abc" + pair + "def", "0123456789" + pair + "6789abcdef"} {
				if got, want := withRoom(slog.String("k", s)), `{"k":`+quoted(s)+`}`; got != want {
					t.Fatalf("bytes %#x %#x: %s, not %s", x, y, got, want)
				}
			}
		}
	}
}

// Numbers of every length.
func TestEveryLengthOfNumbers(t *testing.T) {
	check := func(v int64) {
		want := `{"k":` + strconv.FormatInt(v, 10) + `}`
		for _, a := range []slog.Attr{slog.Int64("k", v), slog.Duration("k", time.Duration(v))} {
			require.Equal(t, want, withRoom(a))
			grown, _ := encode(400, a)
			require.Equal(t, want, grown)
		}
	}
	for v := int64(1); ; v *= 10 {
		for _, d := range []int64{-1, 0, 1, v / 3, v + v/7} {
			check(v + d)
			check(-v - d)
		}
		if v > math.MaxInt64/10 {
			break
		}
	}
	for v := range int64(2000) {
		check(v)
		check(v * 12347)
	}
	check(math.MaxInt64)
	check(math.MinInt64)
	for _, v := range []uint64{0, math.MaxInt64 + 1, 9999999999999999, 10000000000000000, math.MaxUint64} {
		assert.Equal(t, `{"k":`+strconv.FormatUint(v, 10)+`}`, withRoom(slog.Uint64("k", v)))
	}
	assert.Equal(t, `{"k":false}`, withRoom(slog.Bool("k", false)))
}

// Whatever the buffer's room, the object is the same.
func TestEveryRoom(t *testing.T) {
	attrs := append(fiveAttrs(), slog.Int64("large", 1234567890123456789), slog.String("url", "https://example.com/a/long/path"), slog.Int("n", -7))
	want, _ := encode(attrjson.NoLimit, attrs...)
	for room := range len(want) + 60 {
		w := attrjson.Begin(make([]byte, 0, room), attrjson.NoLimit)
		w.Attrs(attrs)
		buf, lost := w.End(attrjson.KeepAll)
		require.Equal(t, want, string(buf), room)
		require.Zero(t, lost)
	}
}

// TestAppendIntegers: integers have the digits of strconv, whatever room the buffer has.
func TestAppendIntegers(t *testing.T) {
	for shift := range 65 {
		for _, add := range []uint64{0, 1, 9, ^uint64(0)} {
			v := uint64(1)<<shift + add
			for room := range 48 {
				dst := append(make([]byte, 0, room+1), 'x')
				require.Equal(t, fmt.Sprintf("x%d", v), string(attrjson.AppendUint(dst, v)))
				require.Equal(t, fmt.Sprintf("x%d", int64(v)), string(attrjson.AppendInt(dst, int64(v))))
				require.Equal(t, fmt.Sprintf("x%d", -int64(v)), string(attrjson.AppendInt(dst, -int64(v))))
			}
		}
	}
}
