// Package commonschema has what log records and spans share in Microsoft's Common Schema 4.0.
package commonschema

import (
	"time"
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
