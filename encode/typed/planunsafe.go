package typed

import (
	"encoding/binary"
	"math"
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
// before anything is written there. It calls nothing but copyLong, so that the values stay in registers.
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
	const (
		first = 1<<16 + tracepoint.CommonSize // the size counts the NUL, the offset the common fields
		space = ' ' * chars.Ones              // what is not in the string
	)
	end := p.empty
	var marks uint64 // as in chars.CopyPlain, which this follows
	for _, f := range p.strings {
		s := *(*string)(unsafe.Add(v, f.field))
		n := uintptr(len(s))
		next := end + n
		if next >= uintptr(limit) {
			return 0
		}
		from, to := unsafe.Pointer(unsafe.StringData(s)), unsafe.Add(payload, end)
		binary.NativeEndian.PutUint32((*[locSize]byte)(unsafe.Add(payload, f.at))[:], uint32(n<<16+end+first))
		*(*byte)(unsafe.Add(payload, next)) = 0
		switch {
		case n-8 <= 8:
			head, tail := (*[8]byte)(from), (*[8]byte)(unsafe.Add(from, n-8))
			x := binary.LittleEndian.Uint64(head[:])
			*(*[8]byte)(to) = *head
			y := binary.LittleEndian.Uint64(tail[:])
			*(*[8]byte)(unsafe.Add(payload, next-8)) = *tail
			marks |= chars.Unplain(x) | chars.Unplain(y)
		case n > 8:
			marks |= copyLong(to, from, n)
		case n >= 4:
			head, tail := (*[4]byte)(from), (*[4]byte)(unsafe.Add(from, n-4))
			x := uint64(binary.LittleEndian.Uint32(head[:]))
			*(*[4]byte)(to) = *head
			y := uint64(binary.LittleEndian.Uint32(tail[:]))
			*(*[4]byte)(unsafe.Add(payload, next-4)) = *tail
			marks |= chars.Unplain(x | y<<32)
		case n >= 2:
			head, tail := (*[2]byte)(from), (*[2]byte)(unsafe.Add(from, n-2))
			x := uint64(binary.LittleEndian.Uint16(head[:]))
			*(*[2]byte)(to) = *head
			y := uint64(binary.LittleEndian.Uint16(tail[:]))
			*(*[2]byte)(unsafe.Add(payload, next-2)) = *tail
			marks |= chars.Unplain(x | y<<16 | space<<32&math.MaxUint64)
		case n == 1:
			c := *(*byte)(from)
			*(*byte)(to) = c
			marks |= chars.Unplain(uint64(c) | space<<8&math.MaxUint64)
		}
		end = next + 1
	}
	if marks&chars.Highs != 0 {
		return 0
	}
	return int(end)
}

// copyLong copies n bytes, which are more than 8, and returns the marks of [chars.Unplain] for them. As a part of fast
// it would take the registers that shorter strings need.
//
//go:noinline
func copyLong(to, from unsafe.Pointer, n uintptr) uint64 {
	n -= 8
	tail := (*[8]byte)(unsafe.Add(from, n))
	marks := chars.Unplain(binary.LittleEndian.Uint64(tail[:]))
	*(*[8]byte)(unsafe.Add(to, n)) = *tail
	for i := uintptr(0); i < n; i += 8 {
		word := (*[8]byte)(unsafe.Add(from, i))
		marks |= chars.Unplain(binary.LittleEndian.Uint64(word[:]))
		*(*[8]byte)(unsafe.Add(to, i)) = *word
	}
	return marks
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
