package attrjson

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/internal/text"
)

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

// stringRoom is what putString wants at least.
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
