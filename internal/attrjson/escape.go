package attrjson

import (
	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/internal/text"
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
