package declared

import (
	"math"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// Put writes what [Type.Convert] returned to the field at buf[at:] of the payload that starts at buf[start]: a text
// into at most room bytes at its end, with its NUL. It returns whether the text was cut.
func (t Type) Put(buf []byte, start, at int, num uint64, s string, room int) (out []byte, cut bool) {
	switch t {
	case String:
	case Float64:
		var digits [32]byte
		s = string(text.AppendFloat(digits[:0], math.Float64frombits(num), 64))
	case Bool, Uint8:
		typedfield.PutU8(buf, at, uint8(num))
		return buf, false
	case Uint16:
		typedfield.PutU16(buf, at, uint16(num))
		return buf, false
	case Int32, Uint32:
		typedfield.PutU32(buf, at, uint32(num))
		return buf, false
	default:
		typedfield.PutU64(buf, at, num)
		return buf, false
	}
	out, lost := typedfield.AppendString(buf, start, at, s, room)
	return out, lost > 0
}
