package attrjson

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/internal/text"
)

// AppendInt appends v as a JSON number.
func AppendInt(dst []byte, v int64) []byte { return appendNumber(dst, uint64(v), v < 0) }

// AppendUint appends v as a JSON number.
func AppendUint(dst []byte, v uint64) []byte { return appendNumber(dst, v, false) }

func appendNumber(dst []byte, v uint64, negative bool) []byte {
	room := dst[:cap(dst)]
	n := putNumber(&room, len(dst), v, negative)
	if n == 0 {
		room = slices.Grow(dst, numberRoom)
		room = room[:cap(room)]
		n = putNumber(&room, len(dst), v, negative)
	}
	return room[:n-len(`,`)]
}

// AppendFloat appends f as a JSON number, in the form of [text.AppendFloat], with .0 behind whole numbers: a reader tells a float from an
// integer, whatever the value. NaN and the infinities have no JSON number: they become the strings "NaN", "Infinity" and "-Infinity".
func AppendFloat(dst []byte, f float64) []byte { return appendFloat(dst, f, 64) }

func appendFloat(dst []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(text.AppendFloat(append(dst, '"'), f, bits), '"')
	}
	from := len(dst)
	dst = text.AppendFloat(dst, f, bits)
	if f == math.Trunc(f) && !slices.Contains(dst[from:], 'e') {
		dst = append(dst, ".0"...)
	}
	return dst
}

// AppendTime appends t in quotes, in the format [time.RFC3339Nano]. A year
// beyond 9999 is written with more digits, which RFC 3339 does not know.
func AppendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	dst = t.AppendFormat(dst, time.RFC3339Nano)
	return append(dst, '"')
}

// AppendNanoseconds appends the nine digits of ns, which is below 1e9.
func AppendNanoseconds(dst []byte, ns uint32) []byte {
	dst = append(dst, '0'+byte(ns/1e8))
	return binary.LittleEndian.AppendUint64(dst, eightDigits(uint64(ns%1e8))|zeros)
}

// putInt puts v, with a comma behind it.
func putInt(buf *[]byte, i int, v int64) int { return putNumber(buf, i, uint64(v), v < 0) }

// putUint puts v, with a comma behind it.
func putUint(buf *[]byte, i int, v uint64) int { return putNumber(buf, i, v, false) }

// numberRoom is what putNumber wants: up to 24 bytes, and what writing eight at a time takes more.
const numberRoom = 40

// putNumber puts v, or -v, with a comma behind it. Like putString it needs no stack frame.
func putNumber(buf *[]byte, i int, v uint64, negative bool) int {
	b := *buf
	if i > len(b)-numberRoom || i < 0 {
		return 0
	}
	t := (*[numberRoom]byte)(b[i:])
	n := 0 // bytes so far
	if negative {
		v = -v
		t[0] = '-'
		n = 1
	}
	if v < 1e8 {
		digits := eightDigits(v)
		skip := leadingZeros(digits)
		binary.LittleEndian.PutUint64(t[n:], (digits|zeros)>>skip)
		n += 8 - int(skip/8)
		t[n] = ','
		return i + n + 1
	}
	high, middle, low := v/1e16, eightDigits(v/1e8%1e8), eightDigits(v%1e8)
	skip := uint(0)
	if high == 0 {
		skip = leadingZeros(middle)
	} else {
		digits := eightDigits(high)
		skip := leadingZeros(digits)
		binary.LittleEndian.PutUint64(t[n:], (digits|zeros)>>skip)
		n += 8 - int(skip/8)
	}
	binary.LittleEndian.PutUint64(t[n&0x1f:], (middle|zeros)>>(skip&0x38)) // n is 9 at most, and then 17
	n += 8 - int(skip/8)
	binary.LittleEndian.PutUint64(t[n&0x1f:], low|zeros)
	t[n&0x1f+8] = ','
	return i + n + 9
}

// zeros makes characters of what eightDigits returns.
const zeros = 0x3030303030303030

// leadingZeros returns how many bits the zeros in front of the number take in what eightDigits
// returned, 56 at most.
func leadingZeros(digits uint64) uint {
	return uint(bits.TrailingZeros64(digits|1<<56)) & 0x38
}

// eightDigits returns the decimal digits of v, which is below 1e8, one in each byte and the first
// in the lowest. Each step splits all numbers in the word at once: into two of
// four digits, four of two, eight of one. The multiplications divide by 100 and by 10,
// rounding down correctly in the range they are used for.
func eightDigits(v uint64) uint64 {
	v = v/1e4 | v%1e4<<32
	q := v * 10486 >> 20 & 0x7f_0000007f
	v = q | (v-q*100)<<16
	q = v * 103 >> 10 & 0x0f000f_000f000f
	return q | (v-q*10)<<8
}

// putBool puts v, with a comma behind it. It is inlined, so the slice costs nothing.
func putBool(b []byte, i int, v bool) int {
	if len("false,") > len(b)-i {
		return 0
	}
	b = b[i : i+len("false,")]
	if v {
		binary.LittleEndian.PutUint32(b, 't'|'r'<<8|'u'<<16|'e'<<24)
		b[4] = ','
		return i + len("true,")
	}
	binary.LittleEndian.PutUint32(b, 'f'|'a'<<8|'l'<<16|'s'<<24)
	b[4], b[5] = 'e', ','
	return i + len("false,")
}

// AppendString appends s as a JSON string, with its quotes, and returns the
// extended buffer. The package comment lists the escaped characters. Every byte
// of s that is not part of valid UTF-8 is escaped, too; [text.UnescapeJSON] puts it back.
func AppendString(dst []byte, s string) []byte {
	room := dst[:cap(dst)]
	n := putString(&room, len(dst), s, ',')
	if n == 0 && len(room)-len(dst) < len(s)+stringRoom {
		room = slices.Grow(dst, len(s)+stringRoom)
		room = room[:cap(room)]
		n = putString(&room, len(dst), s, ',')
	}
	if n > 0 {
		return room[:n-len(`,`)]
	}
	dst, _ = appendEscaped(room[:len(dst)], s, math.MaxInt)
	return dst
}

// The put functions write a value into *buf at position i, and one byte behind it. They return the
// position after that, or 0 if the slice is too short; they may want some bytes more than they
// need. Whatever is in the slice behind the value is overwritten at will. The slice itself stays as
// it is: a pointer to it is passed, since its capacity would be one more thing to pass on.

const stringRoom = 24

// putString puts s in quotes, with the byte next behind it. It returns 0 also if a
// character of s may have to be escaped.
//
// Keys and values are mostly 4 to 30 bytes of plain ASCII. Words are tested on
// their way into the buffer, and the last word overlaps the one before it. As it calls
// nothing, and the compiler sees that no index is out of bounds, it needs no stack frame.
func putString(buf *[]byte, i int, s string, next byte) int {
	const room = stringRoom // a fixed size spares all further checks
	b := *buf
	if i > len(b)-room || i < 0 {
		return 0
	}
	n := len(s)
	if n <= 16 {
		t := (*[room]byte)(b[i:])
		t[0] = '"'
		switch {
		case n >= 8:
			x, y := chars.Load64(s), chars.Load64(s[n-8:])
			if (chars.Unquoted(x)|chars.Unquoted(y))&chars.Highs != 0 {
				return 0
			}
			binary.LittleEndian.PutUint64(t[1:9], x)
			binary.LittleEndian.PutUint64(t[n-7:n+1], y)
		case n >= 4:
			x, y := chars.Load32(s), chars.Load32(s[n-4:])
			if chars.Unquoted(uint64(y)<<32|uint64(x))&chars.Highs != 0 {
				return 0
			}
			binary.LittleEndian.PutUint32(t[1:5], x)
			binary.LittleEndian.PutUint32(t[n-3:n+1], y)
		case n > 0:
			x, z := s[0], s[n-1]
			if !plain[x] || !plain[z] {
				return 0
			}
			t[1], t[n] = x, z
			if n == 3 {
				y := s[1]
				if !plain[y] {
					return 0
				}
				t[2] = y
			}
		}
		t[n+1], t[n+2] = '"', next
		return i + n + 3
	}
	t := b[i:]
	if n > len(t)-3 {
		return 0
	}
	t[0] = '"'
	t[n+1] = '"'
	t[n+2] = next
	x := chars.Load64(s[n-8:])
	if chars.Unquoted(x)&chars.Highs != 0 {
		return 0
	}
	binary.LittleEndian.PutUint64(t[n-7:], x)
	for t = t[1:]; len(s) > 8 && len(t) > 8; s, t = s[8:], t[8:] {
		x := chars.Load64(s)
		if chars.Unquoted(x)&chars.Highs != 0 {
			return 0
		}
		binary.LittleEndian.PutUint64(t, x)
	}
	return i + n + 3
}

// plain tells which bytes are written as they are, wherever they stand.
var plain = func() (t [256]bool) {
	for c := range t {
		t[c] = chars.IsPlain(byte(c)) && c != '"'
	}
	return t
}()

// appendEscaped appends s in quotes to dst so that the result is at most end
// bytes long. A string that does not fit is cut between two characters or escapes and ends in
// [text.CutMark]; whole is then false. If there is no room for even that, dst is returned as
// it was. No step passes end, so a buffer with that capacity is never grown.
func appendEscaped(dst []byte, s string, end int) (_ []byte, whole bool) {
	start := len(dst)
	if end-start < len(`""`) {
		return dst, false
	}
	whole = true
	if room := end - start - len(`""`); len(s) > room {
		// No escape is shorter than what it stands for. What lies beyond the room need not be looked at.
		s, whole = chars.Clip(s, room), false
	}
	dst = append(dst, '"')
	for len(s) > 0 {
		room := end - len(`"`) - len(dst)
		if n := chars.PrintableLen(s); n > 0 {
			dst = append(dst, s[:min(n, room)]...)
			if n > room {
				whole = false
				break
			}
			s = s[n:]
			continue
		}
		size := 0
		if room >= chars.MaxJSON {
			dst, size = chars.AppendJSON(dst, s)
		} else {
			var escape [chars.MaxJSON]byte
			var out []byte
			if out, size = chars.AppendJSON(escape[:0], s); len(out) > room {
				whole = false
				break
			}
			dst = append(dst, out...)
		}
		s = s[size:]
	}
	if whole {
		return append(dst, '"'), true
	}
	content := start + len(`"`)
	room := end - len(text.CutMark+`"`) - content
	if room < 0 {
		return dst[:start], false
	}
	return append(dst[:content+len(chars.ClipEscaped(dst[content:], room))], text.CutMark+`"`...), false
}
