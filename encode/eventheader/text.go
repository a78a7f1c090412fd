package eventheader

import (
	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/internal/chars"
)

// beyond is how much more of a text is written than the limit of the event, so that fit notices that it is too long.
const beyond = 8

// String adds a text in UTF-8, escaped as package text says.
func (e *Encoder) String(name, v string) {
	const each = 0x0001_0001_0001_0001 // the length is the first two bytes in each byte order
	if !e.put(name, TypeString.kind(), uint64(len(v))*each, 2) {
		return
	}
	at := len(e.data)
	if len(v) <= e.limit && chars.CopyPlain(e.data[:cap(e.data)], at, v) {
		e.data = e.data[:at+len(v)]
		return
	}
	e.data = e.order.appendText(e.data[:at-2], v, e.limit)
}

// appendText appends a text with its count. It stops once more than limit bytes are written, but does not call that a cut: the
// event will be too large then, and fit cuts it.
func (o order) appendText(dst []byte, v string, limit int) []byte {
	at := len(dst)
	dst, _ = text.Append(append(dst, 0, 0), v, limit+beyond)
	o.put16(dst[at:], uint16(len(dst)-at-2))
	return dst
}

// Identifier is String for a text of which a part would be wrong, such as an id or a time. It is never cut, and dropped
// only where numbers are dropped, too.
func (e *Encoder) Identifier(name, v string) {
	begin := len(e.data) + 2 // behind the length
	if e.String(name, v); len(e.data) > begin {
		e.identifiers = append(e.identifiers, begin)
	}
}

// JSON adds a text that is JSON, with what is not printable escaped in JSON's notation. If it is cut, it becomes plain text.
func (e *Encoder) JSON(name, v string) {
	if !e.field(name, TypeJSON) {
		return
	}
	at := len(e.data)
	e.data = chars.SanitizeJSON(append(e.data, 0, 0), v, e.limit+beyond)
	e.order.put16(e.data[at:], uint16(len(e.data)-at-2))
}
