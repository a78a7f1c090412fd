package filter

import (
	"bytes"
	"cmp"
	"encoding/binary"
)

// Record is what filters look at.
type Record struct {
	Raw  []byte // the common fields and the payload; up to 7 more bytes may follow
	CPU  int    // that wrote the record
	Comm string // name of the thread that wrote it
}

// Match reports whether the kernel would record the record if the filter were set. It may be called concurrently.
func (f *Filter) Match(r *Record) bool {
	if len(r.Raw) < f.size {
		return false
	}
	i := f.start
	for i >= 0 {
		if s := &f.steps[i]; s.match(r) {
			i = s.yes
		} else {
			i = s.no
		}
	}
	return i == accept
}

// predicate is a comparison with a field of one event.
type predicate struct {
	field
	op      Op
	value   uint64 // as extend returns it
	pattern pattern
}

func (p *predicate) match(r *Record) bool {
	switch p.source {
	case number:
		return p.compare(p.load(r.Raw))
	case processor:
		return p.op != Mask && p.compare(uint64(r.CPU))
	case array:
		return p.pattern.match(r.Raw[p.offset : p.offset+p.size])
	case dataLoc:
		return p.matchAt(r.Raw, 0)
	case relLoc:
		return p.matchAt(r.Raw, p.offset+4)
	case command:
		var comm [16]byte // TASK_COMM_LEN
		copy(comm[:len(comm)-1], r.Comm)
		return p.pattern.match(comm[:])
	}
	return false
}

// matchAt matches the text that the location word refers to, which counts from base. Text of size 0 ends at the next
// NUL, but for two ways of comparing, which look at the size alone.
func (p *predicate) matchAt(raw []byte, base int) bool {
	word := binary.NativeEndian.Uint32(raw[p.offset:])
	text := raw[min(base+int(word&0xffff), len(raw)):]
	n := int(word >> 16)
	if n == 0 && p.pattern.part != end && p.pattern.part != glob {
		n = bytes.IndexByte(text, 0)
		if n < 0 {
			n = len(text)
		}
	}
	return p.pattern.match(text[:min(n, len(text))])
}

func (p *predicate) compare(v uint64) bool {
	order := cmp.Compare(v, p.value)
	if p.signed {
		order = cmp.Compare(int64(v), int64(p.value))
	}
	switch p.op {
	case Equal:
		return order == 0
	case NotEqual:
		return order != 0
	case Less:
		return order < 0
	case LessOrEqual:
		return order <= 0
	case Greater:
		return order > 0
	case GreaterOrEqual:
		return order >= 0
	default: // Mask
		return v&p.value != 0
	}
}

func (f *field) load(raw []byte) uint64 {
	b := raw[f.offset:]
	switch f.size {
	case 1:
		return f.extend(uint64(b[0]))
	case 2:
		return f.extend(uint64(binary.NativeEndian.Uint16(b)))
	case 4:
		return f.extend(uint64(binary.NativeEndian.Uint32(b)))
	default:
		return binary.NativeEndian.Uint64(b)
	}
}

// extend converts a number to the type of the field and back, as the casts of the kernel do.
func (f *field) extend(v uint64) uint64 {
	unused := 64 - 8*f.size
	if f.signed {
		return uint64(int64(v<<unused) >> unused)
	}
	return v << unused >> unused
}
