// Package commonschema has what log records and spans share in Microsoft's Common Schema 4.0.
package commonschema

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/userevents/userevents-go/encode/eventheader"
)

// AppendTime appends a time in RFC 3339, with as many groups of three digits of fractions as
// it has.
func AppendTime(dst []byte, t time.Time) []byte {
	layout := "2006-01-02T15:04:05Z"
	switch ns := t.Nanosecond(); {
	case ns%1000 != 0:
		layout = "2006-01-02T15:04:05.000000000Z"
	case ns%1_000_000 != 0:
		layout = "2006-01-02T15:04:05.000000Z"
	case ns != 0:
		layout = "2006-01-02T15:04:05.000Z"
	}
	return t.UTC().AppendFormat(dst, layout)
}

// Truncated reports whether the encoder added the field that counts what was cut, which is the
// last one in the metadata behind the header.
func Truncated(payload []byte) bool {
	const header, extension = 8, 4 // the latter is size and kind
	size := int(binary.NativeEndian.Uint16(payload[header:]))
	return bytes.HasSuffix(payload[header+extension:][:size], truncatedField)
}

var truncatedField = []byte(eventheader.TruncatedField + "\x00" + string(rune(eventheader.Value16)))
