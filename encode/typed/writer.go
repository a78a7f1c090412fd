package typed

import "github.com/userevents/userevents-go/encode/text"

// writer writes the dynamic fields of a payload in general: texts that need
// replacements, and whatever must be cut.
type writer struct {
	b     []byte // the payload and what it may still take
	end   int    // where the payload ends so far
	share int    // the most that a text, without its NUL, or an array may take
	cut   int    // bytes of values left out so far
}

// room returns how many bytes a text may take.
func (w *writer) room() int { return min(w.share, len(w.b)-1-w.end) }

// text writes a text field.
func (w *writer) text(at int, s string) {
	out, cut := text.Append(w.b[:w.end], s, w.room())
	w.cut += cut
	w.endText(at, len(out))
}

// hex writes a text field of hex digits.
func (w *writer) hex(at int, data []byte) {
	room, keep, mark := w.room(), len(data), ""
	if 2*keep > room {
		mark = text.CutMark
		keep = max(0, room-len(mark)) / 2
	}
	if room < len(mark) {
		mark = ""
	}
	end := w.end + 2*keep
	putHex(w.b[w.end:end:end], data[:keep])
	end += copy(w.b[end:], mark)
	w.cut += len(data) - keep
	w.endText(at, end)
}

// id returns the bytes of a text of fixed size, with its NUL, for which there is always room. Its location is written.
func (w *writer) id(s *step, size int) []byte {
	putDataLoc(w.b, s.at, s.text, size)
	w.b[s.text+size-1] = 0
	return w.b[s.text : s.text+size-1]
}

// endText ends the text that begins at the payload's end.
func (w *writer) endText(at, end int) {
	if end == w.end {
		putNoText(w.b, 0, at)
		return
	}
	w.b[end] = 0
	end++
	putDataLoc(w.b, at, w.end, end-w.end)
	w.end = end
}

// array writes the field of an array, given its elements of elem bytes each.
func (w *writer) array(at int, data []byte, elem int) {
	n := min(len(data), w.share/elem*elem, (len(w.b)-w.end)/elem*elem)
	copy(w.b[w.end:], data[:n])
	putDataLoc(w.b, at, w.end, n)
	w.end += n
	w.cut += len(data) - n
}
