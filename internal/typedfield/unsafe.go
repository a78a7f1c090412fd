package typedfield

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"net/netip"
	"strings"
	"time"
	"unsafe"

	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/tracepoint"
)

// This is the one file that uses package unsafe. A plan reads the fields of a
// struct at the offsets that package reflect found when the plan was made: to read them
// through reflection costs more than everything else about an event together, and
// makes the struct escape. The fast path writes in the same way, without the
// instructions of slicing and bounds checks.
//
// All pointers are made from the one to the struct or the one to the buffer, stay
// inside what these or the struct's strings and slices refer to, and are gone when
// the function returns. No access needs alignment.

// Pointer is a pointer to a struct of any type, for code that does not use package unsafe.
type Pointer = unsafe.Pointer

type pointer = unsafe.Pointer

// PointerTo returns v as a Pointer. It panics if v is nil.
func PointerTo[T any](v *T) Pointer {
	_ = *v
	return pointer(v)
}

type number struct {
	field uintptr // offset in the struct
	at    uintptr // offset in the part
	size  uintptr // 1, 2, 4 or 8
}

type stringField struct {
	field uintptr // offset in the struct
	at    uintptr // offset of the location word in the part
}

// behind returns where the unused capacity of buf begins, of which there must be some.
func behind(buf []byte) pointer { return unsafe.Add(pointer(unsafe.SliceData(buf)), len(buf)) }

// fast writes numbers and strings of *v to a payload: the numbers and the locations of the strings to the part of the
// fixed part that begins at part, the strings to the payload's end, which is at the offset end. There is room for limit
// bytes from payload on, at most MaxLimit. It returns where the payload ends then, or 0 if a string
// does not fit or has something to escape. The numbers are written even then.
//
// Every offset of a field is within the part, and end is compared with limit
// before anything is written there. It calls nothing but copyLong, so that the values stay in registers.
func (c *copier) fast(payload, part, v pointer, end, limit uintptr) int {
	for _, f := range c.numbers {
		from, to := unsafe.Add(v, f.field), unsafe.Add(part, f.at)
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
	var marks uint64 // as in chars.CopyPlain, which this follows
	for _, f := range c.strings {
		s := *(*string)(unsafe.Add(v, f.field))
		n := uintptr(len(s))
		next := end + n
		if next >= limit {
			return 0
		}
		from, to := unsafe.Pointer(unsafe.StringData(s)), unsafe.Add(payload, end)
		binary.NativeEndian.PutUint32((*[locSize]byte)(unsafe.Add(part, f.at))[:], uint32(n<<16+end+first))
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

// fastBehind calls fast for the payload that begins at dst[start], ends at the end of dst, may take limit bytes,
// and has the part at dst[at]. All strings together may take room bytes.
func (c *copier) fastBehind(dst []byte, start, at int, v pointer, limit, room int) int {
	_ = dst[start:][at-start:][c.size-1]
	payload, end := unsafe.Add(pointer(unsafe.SliceData(dst)), start), len(dst)-start
	return c.fast(payload, unsafe.Add(payload, at-start), v, uintptr(end), uintptr(max(0, min(limit, end+room, cap(dst)-start))))
}

func (s *step) write(w *writer, v pointer) {
	field, at := unsafe.Add(v, s.field), w.at+s.at
	switch s.code {
	case opInt8:
		PutU32(w.b, at, uint32(int32(*(*int8)(field))))
	case opInt16:
		PutU32(w.b, at, uint32(int32(*(*int16)(field))))
	case opInt:
		PutU64(w.b, at, uint64(int64(*(*int)(field))))
	case opUint:
		PutU64(w.b, at, uint64(*(*uint)(field)))
	case opTime:
		PutU64(w.b, at, UnixNano(*(*time.Time)(field)))
	case opScale32:
		PutU64(w.b, at, uint64(Scale(float64(*(*float32)(field)), float64(s.n))))
	case opScale64:
		PutU64(w.b, at, uint64(Scale(*(*float64)(field), float64(s.n))))
	case opString:
		w.text(s.at, *(*string)(field))
	case opHexArray:
		if text := w.id(s.at, s.idSize()); text != nil {
			putHex(text, unsafe.Slice((*byte)(field), s.n))
		}
	case opUUID:
		if text := w.id(s.at, uuidSize); text != nil {
			putUUID(text, *(*[16]byte)(field))
		}
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

// value is [Fields.Value]. Everything is copied: a pointer in the result would make what *v points to escape.
func (f *builtField) value(v pointer) any {
	s := &f.step
	field := unsafe.Add(v, s.field)
	switch s.code {
	case opScale32, opFloat32:
		return *(*float32)(field)
	case opScale64, opFloat64:
		return *(*float64)(field)
	case opString:
		return strings.Clone(*(*string)(field))
	case opTextBytes:
		return string(*(*[]byte)(field))
	case opHexSlice:
		return hex.EncodeToString(*(*[]byte)(field))
	case opHexArray:
		return hex.EncodeToString(unsafe.Slice((*byte)(field), s.n))
	case opUUID:
		var text [uuidSize - 1]byte
		putUUID(text[:], *(*[16]byte)(field))
		return string(text[:])
	case opTime:
		t := *(*time.Time)(field)
		return time.Unix(t.Unix(), int64(t.Nanosecond())).UTC()
	case opAddr, opAddrPort, opPrefix, opIP:
		w := writer{b: make([]byte, locSize+64), end: locSize, limit: math.MaxInt, share: math.MaxInt}
		(&step{code: s.code}).writeFormatted(&w, field)
		return text.Unescape(strings.TrimSuffix(string(w.b[locSize:w.end]), "\x00"))
	case opSlice:
		elements := *(*[]byte)(field)
		return integers(f.Type.Kind, pointer(unsafe.SliceData(elements)), len(elements))
	case opArray:
		return integers(f.Type.Kind, field, s.n/s.elem)
	}
	switch num := plainInteger(s.code.integer(f.Type.Kind), field); f.Kind {
	case GoBool:
		return num != 0
	case GoDuration:
		return time.Duration(num)
	case GoInt:
		return int64(num)
	default:
		return num
	}
}

// integers returns the n elements of an array as []int64 or []uint64.
func integers(kind tracepoint.Kind, data pointer, n int) any {
	if kind.Signed() {
		return elementsOf[int64](kind, data, n)
	}
	return elementsOf[uint64](kind, data, n)
}

func elementsOf[T int64 | uint64](kind tracepoint.Kind, data pointer, n int) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = T(plainInteger(kind, unsafe.Add(data, i*kind.Size())))
	}
	return list
}

// plain is [Fields.Plain].
func (f *builtField) plain(v pointer) (num uint64, text string, ok bool) {
	s := &f.step
	field := unsafe.Add(v, s.field)
	switch {
	case s.code == opString:
		return 0, *(*string)(field), true
	case s.code == opFloat64 || s.code == opScale64:
		return math.Float64bits(*(*float64)(field)), "", true
	case f.Kind == GoBool || f.Kind == GoInt || f.Kind == GoUint || f.Kind == GoDuration:
		return plainInteger(s.code.integer(f.Type.Kind), field), "", true
	}
	return 0, "", false
}

// plainInteger returns an integer, sign-extended if its type has a sign.
func plainInteger(kind tracepoint.Kind, field unsafe.Pointer) uint64 {
	switch signed := kind.Signed(); kind.Size() {
	case 1:
		if signed {
			return uint64(*(*int8)(field))
		}
		return uint64(*(*uint8)(field))
	case 2:
		if signed {
			return uint64(*(*int16)(field))
		}
		return uint64(*(*uint16)(field))
	case 4:
		if signed {
			return uint64(*(*int32)(field))
		}
		return uint64(*(*uint32)(field))
	default:
		return *(*uint64)(field)
	}
}
