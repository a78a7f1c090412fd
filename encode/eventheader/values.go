package eventheader

import (
	"encoding/binary"
	"math"
)

// Uint adds an unsigned integer, a port or the code of a character.
func (r *Record) Uint(v uint64) {
	if r.takes(opUint64) {
		r.next++
		r.dst = hostOrder.append64(r.dst, v)
		return
	}
	if s := r.settle(); v > s.max || !r.number(s, v) {
		r.mismatch(s, "the number %d", v)
	}
}

// Int adds a signed integer, an error number, a process id or a time.
func (r *Record) Int(v int64) {
	if r.takes(opInt64) {
		r.next++
		r.dst = hostOrder.append64(r.dst, uint64(v))
		return
	}
	if s := r.settle(); !s.contains(v) || !r.number(s, uint64(v)) {
		r.mismatch(s, "the number %d", v)
	}
}

func (s *slot) contains(v int64) bool { return v >= s.min && (v < 0 || uint64(v) <= s.max) }

// number adds a number that is in the slot's range, or returns false.
func (r *Record) number(s *slot, v uint64) bool {
	switch s.op {
	case opUint64, opInt64, opNumber:
		r.dst = r.order.appendNumber(r.dst, s.size, v)
	case opSpecial:
		r.dst = r.order.appendValue(r.dst, s.typ, v)
	case opNullable:
		if s.size == 0 {
			return false // no size, no number
		}
		r.dst = r.order.append16(r.dst, uint16(s.size))
		if s.typ.Format() == FormatPort {
			r.dst = binary.BigEndian.AppendUint16(r.dst, uint16(v))
		} else {
			r.dst = r.order.appendNumber(r.dst, s.size, v)
		}
	default:
		return false
	}
	r.next++
	return true
}

func (o order) appendNumber(dst []byte, size uint8, v uint64) []byte {
	switch size {
	case 8:
		return o.append64(dst, v)
	case 4:
		return o.append32(dst, uint32(v))
	case 2:
		return o.append16(dst, uint16(v))
	}
	return append(dst, byte(v))
}

// Float adds a floating-point number. In a field of 32 bits it is rounded.
func (r *Record) Float(v float64) {
	s := r.settle()
	switch {
	case s.op == opFloat && s.size == 4:
		r.dst = r.order.append32(r.dst, math.Float32bits(float32(v)))
	case s.op == opFloat:
		r.dst = r.order.append64(r.dst, math.Float64bits(v))
	case s.op == opNullable && s.typ.Format() == FormatFloat:
		r.dst = r.order.append64(r.order.append16(r.dst, 8), math.Float64bits(v))
	default:
		r.mismatch(s, "a float")
		return
	}
	r.next++
}

// Bool adds a boolean.
func (r *Record) Bool(v bool) {
	if r.takes(opBool) {
		r.next++
		r.dst = append(r.dst, bit(v))
		return
	}
	s := r.settle()
	switch {
	case s.op == opBool:
		r.dst = append(r.dst, bit(v))
	case s.op == opWideBool:
		r.dst = r.order.appendNumber(r.dst, s.size, uint64(bit(v)))
	case s.op == opNullable && s.typ.Format() == FormatBool:
		r.dst = append(r.order.append16(r.dst, 1), bit(v))
	default:
		r.mismatch(s, "a boolean")
		return
	}
	r.next++
}

// String adds a text, which is given in UTF-8 and written in the field's
// encoding, as [Encoder.Text] does.
func (r *Record) String(v string) {
	if r.takes(opUTF8) {
		if n := hostOrder.putPlain(r.dst, v); n > 0 {
			r.dst = r.dst[:n]
			r.next++
			return
		}
	}
	switch s := r.settle(); s.op {
	case opUTF8, opText:
		var whole bool
		if r.dst, whole = r.order.appendText(r.dst, s.typ, v, r.limit); !whole {
			r.lost++
		}
		r.next++
	default:
		r.mismatch(s, "a text")
	}
}

// Bytes adds bytes as they are: binary data, or a UUID, an IP address or
// hexadecimal bytes, whose length must be that of the field. They are in network order.
func (r *Record) Bytes(v []byte) {
	s := r.settle()
	switch {
	case s.op == opBytes:
		v = v[:min(len(v), r.limit)]
		r.dst = r.order.append16(r.dst, uint16(len(v)))
	case s.op == opNullable && s.typ.takesBytes(len(v)):
		r.dst = r.order.append16(r.dst, uint16(len(v)))
	case s.op == opRaw && int(s.size) == len(v):
	default:
		r.mismatch(s, "%d bytes", len(v))
		return
	}
	r.dst = append(r.dst, v...)
	r.next++
}

// Null adds a null to a field of Binary or String8 with a format of fixed size.
func (r *Record) Null() {
	s := r.settle()
	if s.op != opNullable {
		r.mismatch(s, "null")
		return
	}
	r.dst = r.order.append16(r.dst, 0)
	r.next++
}

// Count adds the number of elements of a variable array, whose values follow. If
// so many do not fit, the last ones are dropped.
func (r *Record) Count(n int) {
	s := r.settle()
	if s.op != opArray || n < 0 {
		r.mismatch(s, "%d elements", n)
		return
	}
	keep := min(n, r.items/int(s.items), math.MaxUint16)
	if s.floor > 0 {
		keep = min(keep, max(r.room, 0)/int(s.floor))
	}
	if keep < n {
		r.lost++
	}
	if size := s.typ.Encoding().size(); size > 0 {
		// End cuts what goes beyond the limit, and counts it.
		keep = min(keep, r.limit/size)
	}
	r.room -= keep * int(s.floor)
	r.items -= keep * int(s.items)
	r.dst = r.order.append16(r.dst, uint16(keep))
	if n == 0 {
		r.next = int(s.n)
		return
	}
	r.push(n, keep)
}
