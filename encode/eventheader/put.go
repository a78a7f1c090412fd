package eventheader

import (
	"encoding/binary"
	"slices"

	"github.com/userevents/userevents-go/internal/chars"
)

const (
	// Names that are no longer are written in the shortest way, which takes that much room.
	maxShortName = 24
	nameRoom     = 32
	// An encoder's buffer for data is no smaller, so that there is room to write eight bytes at a time.
	minData = 512
)

// kind returns what follows a field's name in the metadata, the first byte in the lowest one: the end of the name, the
// encoding, and the format if it is not the default. The highest byte is the number of these bytes.
func (t Type) kind() uint32 {
	if t>>8 != 0 {
		return typeSize<<24 | uint32(t>>8)<<16 | uint32(t&0xff|chainFlag)<<8
	}
	return (typeSize-1)<<24 | uint32(t)<<8
}

// field appends a field's metadata, unless decoders would not take the field.
func (e *Encoder) field(name string, t Type) bool { return e.put(name, t.kind(), 0, 0) }

// put is field for any field, and appends size bytes of data, 0 to 8, the first ones of v in the event's byte order.
//
// It is one function that calls nothing where it matters, since an encoder spends most of its time here. It looks at eight
// bytes of the name at a time, or four, and lets the last ones overlap those before, as package chars does.
func (e *Encoder) put(name string, kind uint32, v uint64, size int) bool {
	e.spare--
	n, at := len(name), len(e.meta)
	if e.spare < 0 || uint(n-1) >= maxShortName || cap(e.meta)-at < nameRoom || cap(e.data)-len(e.data) < 8 {
		return e.putAny(name, kind, v, size)
	}
	b := (*[nameRoom]byte)(e.meta[at : at+nameRoom])
	var bits uint64
	switch {
	case n >= 8:
		x, y := chars.Load64(name), chars.Load64(name[n-8:])
		bits = odd(x) | odd(y)
		binary.LittleEndian.PutUint64(b[:8], x)
		if n > 16 {
			x = chars.Load64(name[8:])
			bits |= odd(x)
			binary.LittleEndian.PutUint64(b[8:16], x)
		}
		binary.LittleEndian.PutUint64(b[n-8:n], y)
	case n >= 4:
		x, y := chars.Load32(name), chars.Load32(name[n-4:])
		binary.LittleEndian.PutUint32(b[:4], x)
		binary.LittleEndian.PutUint32(b[n-4:n], y)
		bits = odd(uint64(x) | uint64(y)<<32)
	default:
		x, y, z := name[0], name[n>>1], name[n-1]
		b[0], b[n>>1], b[n-1] = x, y, z
		bits = odd(tiny(x, y, z))
	}
	if bits&chars.Highs != 0 {
		return e.putAny(name, kind, v, size)
	}
	binary.LittleEndian.PutUint32(b[n:n+4], kind)
	// Slices of themselves are stored without a write barrier.
	e.meta = e.meta[:at+n+int(kind>>24)]
	begin := len(e.data)
	binary.NativeEndian.PutUint64(e.data[begin:begin+8], e.order.u64(v))
	e.data = e.data[:begin+size]
	return true
}

// putAny is put for names that are empty, long or need repair, for a crowded event, and where a buffer has to grow.
func (e *Encoder) putAny(name string, kind uint32, v uint64, size int) bool {
	if e.spare < 0 || name == "" || len(name) > e.limit {
		var fits bool
		if name, fits = e.crowded(name); !fits {
			return false
		}
	}
	e.meta = appendName(e.meta, name)
	e.meta = binary.LittleEndian.AppendUint32(e.meta, kind)
	e.meta = slices.Grow(e.meta[:len(e.meta)-4+int(kind>>24)], nameRoom)
	end := len(e.data) + size
	e.data = e.order.append64(e.data, v)[:end]
	return true
}

// crowded decides about a field that one of the limits concerns, or that has no name. It returns the name to write.
func (e *Encoder) crowded(name string) (string, bool) {
	switch {
	case e.skipped > 0 || e.first == 0:
		e.spare++
		return "", false
	case len(name) > e.limit:
		e.spare++
		e.lost++
		return "", false
	case name == "":
		name = noName
	}
	if e.spare == -1 {
		e.last, e.lastData = offset(len(e.meta)), offset(len(e.data))
	}
	if e.spare < -1 {
		e.spare++
		if !e.beginOverflow() {
			e.lost++
			return "", false
		}
		e.spare--
	}
	return name, true
}
