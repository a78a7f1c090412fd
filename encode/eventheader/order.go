package eventheader

import (
	"encoding/binary"
	"math/bits"
)

// order is the byte order of an event: true if it is not this machine's.
type order bool

const hostOrder = order(false)

func (o order) u16(v uint16) uint16 {
	if o {
		return bits.ReverseBytes16(v)
	}
	return v
}

func (o order) u32(v uint32) uint32 {
	if o {
		return bits.ReverseBytes32(v)
	}
	return v
}

func (o order) u64(v uint64) uint64 {
	if o {
		return bits.ReverseBytes64(v)
	}
	return v
}

func (o order) append16(b []byte, v uint16) []byte {
	return binary.NativeEndian.AppendUint16(b, o.u16(v))
}

func (o order) append32(b []byte, v uint32) []byte {
	return binary.NativeEndian.AppendUint32(b, o.u32(v))
}

func (o order) append64(b []byte, v uint64) []byte {
	return binary.NativeEndian.AppendUint64(b, o.u64(v))
}

func (o order) put16(b []byte, v uint16) { binary.NativeEndian.PutUint16(b, o.u16(v)) }

func (o order) get16(b []byte) uint16 { return o.u16(binary.NativeEndian.Uint16(b)) }
func (o order) get32(b []byte) uint32 { return o.u32(binary.NativeEndian.Uint32(b)) }
func (o order) get64(b []byte) uint64 { return o.u64(binary.NativeEndian.Uint64(b)) }

// appendNumber appends an integer of size bytes.
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
