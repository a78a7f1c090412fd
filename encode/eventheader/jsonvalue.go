package eventheader

import (
	"encoding/hex"
	"math"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/encode/text"
)

// AppendJSON appends the value as JSON. The table in the package's documentation
// says in which form.
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
		return appendErrno(dst, v.int())
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
