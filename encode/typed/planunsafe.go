package typed

import (
	"encoding/binary"
	"net/netip"
	"time"
	"unsafe"

	"github.com/userevents/userevents-go/encode/internal/chars"
	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/tracepoint"
)

// This is the one file that uses package unsafe. A plan reads the fields of a
// struct at the offsets that package reflect found when the plan was made: to read them
// through reflection costs more than everything else about an event together, and
// makes the struct escape. The fast path writes in the same way, since slicing and bounds
// checks were more than a third of its instructions.
//
// All pointers are made from the one to the struct or the one to the buffer, stay
// inside what these or the struct's strings and slices refer to, and are gone when
// the function returns. No access needs alignment.

// pointer is how the rest of the package names a pointer to a struct of any type.
type pointer = unsafe.Pointer

func pointerTo[T any](v *T) pointer {
	_ = *v // a nil pointer panics here, like everywhere
	return pointer(v)
}

// number is a field that is copied as it is.
type number struct {
	field uintptr // offset in the struct
	at    uintptr // offset in the payload
	size  uintptr // 1, 2, 4 or 8
}

// stringField is a field of a string type.
type stringField struct {
	field uintptr // offset in the struct
	at    uintptr // offset of the location word in the payload
}

// fast writes a payload with all numbers and strings of *v behind buf, which has room for
// limit bytes; limit is enough for an empty payload and at most MaxLimit. It returns the
// length of the payload, or 0 if a string does not fit or has something to escape. The numbers are written even then.
//
// Every offset of a plan is within an empty payload, and end is compared with limit
// before anything is written there. It calls nothing, so that the values stay in registers.
func (p *plan) fast(buf []byte, v pointer, limit int) int {
	payload := unsafe.Add(unsafe.Pointer(unsafe.SliceData(buf)), len(buf))
	for _, f := range p.numbers {
		from, to := unsafe.Add(v, f.field), unsafe.Add(payload, f.at)
		if f.size == 8 {
			*(*[8]byte)(to) = *(*[8]byte)(from)
			continue
		}
		switch f.size {
		case 4:
			*(*[4]byte)(to) = *(*[4]byte)(from)
		case 2:
			*(*[2]byte)(to) = *(*[2]byte)(from)
		default:
			*(*byte)(to) = *(*byte)(from)
		}
	}
	const printable = ' ' * chars.Ones // what is not in the string
	end := p.empty
	var marks uint64 // as in chars.CopyPlain, which this follows
	for _, f := range p.strings {
		s := *(*string)(unsafe.Add(v, f.field))
		n := uintptr(len(s))
		if end+n >= uintptr(limit) {
			return 0
		}
		from, to := unsafe.Pointer(unsafe.StringData(s)), unsafe.Add(payload, end)
		const first = 1<<16 + tracepoint.CommonSize // the size counts the NUL, the offset the common fields
		location := uint32(n<<16 + end + first)
		binary.NativeEndian.PutUint32((*[locSize]byte)(unsafe.Add(payload, f.at))[:], location)
		*(*byte)(unsafe.Add(to, n)) = 0
		switch {
		case n >= 8:
			rest := n - 8 // to be copied before the last eight bytes
			head, tail := (*[8]byte)(from), (*[8]byte)(unsafe.Add(from, rest))
			x, y := binary.LittleEndian.Uint64(head[:]), binary.LittleEndian.Uint64(tail[:])
			*(*[8]byte)(to) = *head
			*(*[8]byte)(unsafe.Add(to, rest)) = *tail
			marks |= chars.Unplain(x) | chars.Unplain(y)
			for rest > 8 {
				rest -= 8
				word := (*[8]byte)(unsafe.Add(from, rest))
				x := binary.LittleEndian.Uint64(word[:])
				*(*[8]byte)(unsafe.Add(to, rest)) = *word
				marks |= chars.Unplain(x)
			}
		case n >= 4:
			head, tail := (*[4]byte)(from), (*[4]byte)(unsafe.Add(from, n-4))
			x := uint64(binary.LittleEndian.Uint32(head[:])) | uint64(binary.LittleEndian.Uint32(tail[:]))<<32
			*(*[4]byte)(to) = *head
			*(*[4]byte)(unsafe.Add(to, n-4)) = *tail
			marks |= chars.Unplain(x)
		case n >= 2:
			head, tail := (*[2]byte)(from), (*[2]byte)(unsafe.Add(from, n-2))
			x := uint64(binary.LittleEndian.Uint16(head[:])) | uint64(binary.LittleEndian.Uint16(tail[:]))<<16 | printable&^0xFFFF_FFFF
			*(*[2]byte)(to) = *head
			*(*[2]byte)(unsafe.Add(to, n-2)) = *tail
			marks |= chars.Unplain(x)
		case n == 1:
			c := *(*byte)(from)
			*(*byte)(to) = c
			marks |= chars.Unplain(uint64(c) | printable&^0xFF)
		}
		end += n + 1
	}
	if marks&chars.Highs != 0 {
		return 0
	}
	return int(end)
}

// read returns the string of a field.
func (f *stringField) read(v pointer) string {
	return *(*string)(unsafe.Add(v, f.field))
}

// write writes the field of *v that the step is for.
func (s *step) write(w *writer, v pointer) {
	field := unsafe.Add(v, s.field)
	switch s.code {
	case opInt8:
		PutU32(w.b, s.at, uint32(int32(*(*int8)(field))))
	case opInt16:
		PutU32(w.b, s.at, uint32(int32(*(*int16)(field))))
	case opInt:
		PutU64(w.b, s.at, uint64(int64(*(*int)(field))))
	case opUint:
		PutU64(w.b, s.at, uint64(*(*uint)(field)))
	case opTime:
		PutU64(w.b, s.at, UnixNano(*(*time.Time)(field)))
	case opScale32:
		PutU64(w.b, s.at, uint64(Scale(float64(*(*float32)(field)), float64(s.n))))
	case opScale64:
		PutU64(w.b, s.at, uint64(Scale(*(*float64)(field), float64(s.n))))
	case opHexArray:
		putHex(w.id(s, s.idSize()), unsafe.Slice((*byte)(field), s.n))
	case opUUID:
		putUUID(w.id(s, s.idSize()), *(*[16]byte)(field))
	case opTextBytes:
		b := *(*[]byte)(field)
		w.text(s.at, unsafe.String(unsafe.SliceData(b), len(b)))
	case opHexSlice:
		w.hex(s.at, *(*[]byte)(field))
	case opSlice:
		elements := *(*[]byte)(field) // the length counts elements, whatever their size
		w.array(s.at, unsafe.Slice(unsafe.SliceData(elements), len(elements)*s.elem), s.elem)
	case opArray:
		w.array(s.at, unsafe.Slice((*byte)(field), s.n), s.elem)
	default:
		s.writeFormatted(w, field)
	}
}

// writeFormatted writes a field of a type that is formatted as text.
func (s *step) writeFormatted(w *writer, field pointer) {
	var scratch [64]byte
	out := scratch[:0]
	switch s.code {
	case opFloat32:
		out = text.AppendFloat(out, float64(*(*float32)(field)), 32)
	case opFloat64:
		out = text.AppendFloat(out, *(*float64)(field), 64)
	case opAddr:
		if addr := *(*netip.Addr)(field); addr.IsValid() {
			out = addr.AppendTo(out)
		}
	case opAddrPort:
		if addr := *(*netip.AddrPort)(field); addr.IsValid() {
			out = addr.AppendTo(out)
		}
	case opPrefix:
		if prefix := *(*netip.Prefix)(field); prefix.IsValid() {
			out = prefix.AppendTo(out)
		}
	case opIP:
		if addr, ok := netip.AddrFromSlice(*(*[]byte)(field)); ok {
			out = addr.Unmap().AppendTo(out)
		}
	}
	w.text(s.at, unsafe.String(unsafe.SliceData(out), len(out)))
}
