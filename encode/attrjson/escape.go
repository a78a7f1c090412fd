package attrjson

import (
	"strings"
	"unicode/utf8"

	"github.com/userevents/userevents-go/encode/internal/chars"
	"github.com/userevents/userevents-go/encode/text"
)

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
	last := end - len(text.CutMark+`"`) // the last position where a cut text may end
	cut := -1                           // where it would end
	if len(dst) <= last {
		cut = len(dst)
	}
	for len(s) > 0 {
		if n := plainPrefix(s); n > 0 {
			fits := min(n, end-1-len(dst))
			if room := last - len(dst); room >= 0 {
				cut = len(dst) + len(chars.Clip(s[:n], room))
			}
			dst = append(dst, s[:fits]...)
			if fits < n {
				whole = false
				break
			}
			s = s[n:]
			continue
		}
		var room [chars.MaxJSON]byte
		escape, size := chars.AppendJSON(room[:0], s)
		if len(escape) > end-1-len(dst) {
			whole = false
			break
		}
		dst = append(dst, escape...)
		if len(dst) <= last {
			cut = len(dst)
		}
		s = s[size:]
	}
	switch {
	case whole:
		return append(dst, '"'), true
	case cut < 0:
		return dst[:start], false
	}
	return append(dst[:cut], text.CutMark+`"`...), false
}

// plainPrefix returns the length of the longest prefix of s that is written as
// it is.
func plainPrefix(s string) int {
	i := 0
	for i < len(s) {
		r, size := chars.Decode(s[i:])
		if chars.JSONEscaped(r) || r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	return i
}

// Unescape returns the string that was written as a key or a value, byte for byte, given what a JSON
// parser made of it. It puts back the bytes that are not valid UTF-8. A string without such bytes is
// returned as it is.
func Unescape(s string) string {
	if strings.IndexFunc(s, chars.IsRawByte) < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if chars.IsRawByte(r) {
			b = append(b, chars.RawByte(r))
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}
