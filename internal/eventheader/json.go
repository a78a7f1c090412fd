package eventheader

import (
	"encoding/hex"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/internal/text"
)

// AppendFieldsJSON appends the fields as the members of a JSON object, without
// its braces: "a":1,"b":[2,3]. On an error it returns dst as it was.
func (ev *Event) AppendFieldsJSON(dst []byte) ([]byte, error) {
	var c Cursor
	c.Reset(ev)
	b := appendMembers(dst, &c)
	if err := c.Err(); err != nil {
		return dst, err
	}
	return b, nil
}

func appendMembers(dst []byte, c *Cursor) []byte {
	comma := false
	for c.Next() {
		switch c.item {
		case ItemStructEnd:
			dst, comma = append(dst, '}'), true
			continue
		case ItemArrayEnd:
			dst, comma = append(dst, ']'), true
			continue
		}
		if comma {
			dst = append(dst, ',')
		}
		if c.index < 0 {
			dst = appendKey(dst, c)
		}
		switch c.item {
		case ItemStruct:
			dst, comma = append(dst, '{'), false
		case ItemArray:
			dst, comma = append(dst, '['), false
		default:
			dst, comma = c.Value().AppendJSON(dst), true
		}
	}
	return dst
}

func appendKey(dst []byte, c *Cursor) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, c.NameBytes(), formUTF8)
	if c.field.tag != 0 {
		dst = append(dst, ";tag=0x"...)
		dst = appendUpperHex(dst, uint64(c.field.tag))
	}
	return append(dst, '"', ':')
}

// AppendJSON appends the value as JSON, in the form of LinuxTracepoints' decoders: an error number as "ENOENT(2)", bytes as "00 ff", a time in
// UTC as "2024-01-01T12:34:56".
func (v Value) AppendJSON(dst []byte) []byte {
	switch f := v.format(); f {
	case FormatDefault:
		return append(dst, "null"...)
	case FormatUnsigned:
		return strconv.AppendUint(dst, v.uint(), 10)
	case FormatSigned, FormatPID:
		return strconv.AppendInt(dst, v.int(), 10)
	case FormatHex:
		return appendHex(dst, v.uint())
	case FormatErrno:
		return append(strconv.AppendInt(append(dst, `"ERRNO(`...), v.int(), 10), `)"`...)
	case FormatTime:
		return appendTime(dst, v.int())
	case FormatBool:
		if n := v.uint(); n > 1 {
			return strconv.AppendInt(dst, int64(int32(n)), 10)
		}
		return strconv.AppendBool(dst, v.uint() == 1)
	case FormatFloat:
		if len(v.raw) == 4 {
			return appendFloat(dst, float64(v.float32()), 32)
		}
		return appendFloat(dst, v.float64(), 64)
	case FormatUUID:
		return append(UUID(v.raw).append(append(dst, '"')), '"')
	case FormatPort:
		return strconv.AppendUint(dst, v.port(), 10)
	case FormatIP:
		return append(v.addr().AppendTo(append(dst, '"')), '"')
	case FormatHexBytes:
		return appendHexBytes(dst, v.raw)
	default:
		b, form := v.textForm(f)
		return append(appendEscaped(append(dst, '"'), b, form), '"')
	}
}

func appendHex(dst []byte, v uint64) []byte {
	dst = append(dst, `"0x`...)
	return append(appendUpperHex(dst, v), '"')
}

func appendUpperHex(dst []byte, v uint64) []byte {
	start := len(dst)
	dst = strconv.AppendUint(dst, v, 16)
	for i, c := range dst[start:] {
		if c >= 'a' {
			dst[start+i] = c - 'a' + 'A'
		}
	}
	return dst
}

func appendHexBytes(dst, b []byte) []byte {
	dst = append(dst, '"')
	for i := range b {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = hex.AppendEncode(dst, b[i:i+1])
	}
	return append(dst, '"')
}

// Years outside of this range do not fit the C library's broken-down time, which
// the reference decoder uses.
const (
	minTime = -67768040609740800
	maxTime = 67768036191676799
)

func appendTime(dst []byte, seconds int64) []byte {
	dst = append(dst, '"')
	if seconds < minTime || seconds > maxTime {
		dst = append(dst, "TIME("...)
		dst = strconv.AppendInt(dst, seconds, 10)
		return append(dst, ')', '"')
	}
	t := time.Unix(seconds, 0).UTC()
	dst = t.AppendFormat(dst, "2006-01-02T15:04:05")
	return append(dst, '"')
}

// appendFloat appends the shortest form that reads back as the same number:
// scientific if that is shorter. Infinities and NaNs are strings, since JSON has none.
func appendFloat(dst []byte, v float64, size int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(text.AppendFloat(append(dst, '"'), v, size), '"')
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'e', -1, size)
	scientific := len(dst) - start
	dst = strconv.AppendFloat(dst, v, 'f', -1, size)
	fixed := dst[start+scientific:]
	if scientific < len(fixed) {
		return dst[:start+scientific]
	}
	return append(dst[:start], fixed...)
}

func appendEscaped(dst, b []byte, form textForm) []byte {
	if form == formUTF8 {
		// Most text is ASCII that needs no escape.
		n := 0
		for n < len(b) && chars.IsPlain(b[n]) && b[n] != '"' {
			n++
		}
		if dst, b = append(dst, b[:n]...), b[n:]; len(b) == 0 {
			return dst
		}
	}
	for {
		switch r, n := form.rune(b); {
		case n == 0:
			return dst
		case escaped(r):
			dst, b = chars.AppendJSONRune(dst, r), b[n:]
		default:
			dst, b = utf8.AppendRune(dst, r), b[n:]
		}
	}
}

// escaped reports whether a character is written as an escape: what JSON demands,
// and what would let a text end a line, drive a terminal or disguise other text.
func escaped(r rune) bool { return r == '"' || r == '\\' || chars.Unprintable(r) }
