package attrjson

import "unicode/utf8"

// ellipsis marks a text that was cut (U+2026).
const ellipsis = "…"

// letters holds, for each control character below U+0020, what follows the
// backslash in its shortest escape; u stands for \u00XX.
const letters = "uuuuuuuubtnufruuuuuuuuuuuuuuuuuu"

const hex = "0123456789abcdef"

// appendEscaped appends s in quotes to dst so that the result is at most end
// bytes long. A string that does not fit is cut between two characters and ends in
// an ellipsis; whole is then false. If there is no room for even that, dst is returned as
// it was. No step passes end, so a buffer with that capacity is never grown.
func appendEscaped(dst []byte, s string, end int) (_ []byte, whole bool) {
	start := len(dst)
	if end-start < len(`""`) {
		return dst, false
	}
	whole = true
	if room := end - start - len(`""`); len(s) > room {
		// No escape is shorter than what it stands for. What lies beyond the room need not be looked at.
		s, whole = clip(s, room), false
	}
	dst = append(dst, '"')
	last := end - len(ellipsis+`"`) // the last position where a cut text may end
	cut := -1                       // where it would end
	if len(dst) <= last {
		cut = len(dst)
	}
	for len(s) > 0 {
		if n := plainPrefix(s); n > 0 {
			fits := min(n, end-1-len(dst))
			if room := last - len(dst); room >= 0 {
				cut = len(dst) + len(clip(s[:n], room))
			}
			dst = append(dst, s[:fits]...)
			if fits < n {
				whole = false
				break
			}
			s = s[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		if escapedLen(r) > end-1-len(dst) {
			whole = false
			break
		}
		dst = appendEscape(dst, r)
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
	return append(dst[:cut], ellipsis+`"`...), false
}

// clip returns the longest prefix of s with at most n bytes that does not end
// inside a character.
func clip(s string, n int) string {
	if n >= len(s) {
		return s
	}
	// Invalid text may have any number of continuation bytes: a character has three.
	for i := n; i >= 0 && i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n]
}

// plainPrefix returns the length of the longest prefix of s that is written as
// it is.
func plainPrefix(s string) int {
	i := 0
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' || c == '"' || c == '\\' || c == 0x7f {
				break
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if deceptive(r) || r == utf8.RuneError && size == 1 {
			break
		}
		i += size
	}
	return i
}

// deceptive reports whether r is no ASCII and drives a terminal, ends a line or
// reorders text: a C1 control, a line or paragraph separator, or a character with the
// property Bidi_Control.
func deceptive(r rune) bool {
	switch {
	case r < 0x80, r > 0x2069:
		return false
	case r <= 0x9f:
		return true
	}
	return r == 0x061c ||
		r == 0x200e || r == 0x200f ||
		0x2028 <= r && r <= 0x202e ||
		0x2066 <= r
}

// escapedLen returns the length of what [appendEscape] appends.
func escapedLen(r rune) int {
	switch {
	case r == '"', r == '\\', r < ' ' && letters[r] != 'u':
		return len(`\n`)
	case r == utf8.RuneError:
		return len("\uFFFD")
	}
	return len(`\u0000`)
}

// appendEscape appends a character that is not written as it is. U+FFFD stands for
// invalid UTF-8 and is the one that needs no escape.
func appendEscape(dst []byte, r rune) []byte {
	switch {
	case r == '"', r == '\\':
		return append(dst, '\\', byte(r))
	case r < ' ' && letters[r] != 'u':
		return append(dst, '\\', letters[r])
	case r == utf8.RuneError:
		return utf8.AppendRune(dst, r)
	}
	return append(dst, '\\', 'u', hex[r>>12&0xf], hex[r>>8&0xf], hex[r>>4&0xf], hex[r&0xf])
}

// appendSanitized appends valid JSON so that it holds to the package's rules
// on characters too: JSON itself allows DEL, C1 and bidirectional controls, and
// encoding/json does not look at the UTF-8 of a Marshaler's output. Such
// characters can only be inside strings.
func appendSanitized(dst, json []byte) []byte {
	for len(json) > 0 {
		if c := json[0]; c < utf8.RuneSelf && c != 0x7f {
			dst = append(dst, c)
			json = json[1:]
			continue
		}
		r, size := utf8.DecodeRune(json)
		if r == 0x7f || deceptive(r) || r == utf8.RuneError {
			dst = appendEscape(dst, r)
		} else {
			dst = append(dst, json[:size]...)
		}
		json = json[size:]
	}
	return dst
}
