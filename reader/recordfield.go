package reader

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/userevents/userevents-go/tracepoint"
)

// recordField is a field of a recognised event, as decoding needs it. Records of such events are the most frequent: where their
// fields are and how they are read is known before the first one.
type recordField struct {
	setter
	reading reading
	offset  int // of the fixed part in a record
	size    int // the same
	base    int // of a dynamic field: what the location in its fixed part counts from, as an offset in a record
	align   int // of a dynamic field: the size of an element, a power of two, less 1

	skipsEmpty bool // an empty text changes nothing
}

// reading is how the value of a field is read.
type reading uint8

const (
	readNothing reading = iota // there is no setter for a value of its kind
	readUint64
	readInt32
	readUint32
	readInt16
	readUint16
	readInt8
	readUint8
	readFixed   // bytes in the fixed part
	readDynamic // bytes elsewhere in the record
)

// recordFields returns how the fields of an event are read, and how many bytes a record has at least: the fixed parts of all fields.
func (l *layout) recordFields(f tracepoint.Format) (list []recordField, size int) {
	for _, f := range f.Fields {
		list = append(list, l.recordField(f))
	}
	for _, f := range slices.Concat(f.Common, f.Fields) {
		end := f.Offset + f.Type.FixedSize()
		if end < 0 {
			end = math.MaxInt // the sum overflows: no record is so large
		}
		size = max(size, end)
	}
	return list, size
}

func (l *layout) recordField(f tracepoint.FormatField) recordField {
	t := f.Type
	r := recordField{offset: f.Offset, size: t.FixedSize(), align: t.Kind.Size() - 1}
	all := l.fields[f.Name]
	switch {
	case isNumber(t):
		r.setter = setter{number: all.number, upTo: all.upTo, empty: all.empty}
		r.reading = integerReadings[t.Kind.Size()][t.Kind.Signed()]
	case isText(t):
		r.setter = setter{words: all.words, text: all.text, empty: all.empty}
		r.skipsEmpty = !all.empty
	case t.Kind != tracepoint.Struct:
		r.setter = setter{array: all.array, empty: all.empty}
	}
	switch {
	case r.isEmpty():
		r.reading = readNothing
	case t.Location != tracepoint.Fixed:
		r.reading = readDynamic
	case r.reading == readNothing:
		r.reading = readFixed
	}
	if t.Location == tracepoint.RelLoc {
		r.base = f.Offset + r.size
	}
	return r
}

// integerReadings has the readings of integers by their size and whether they are signed.
var integerReadings = map[int]map[bool]reading{
	8: {false: readUint64, true: readUint64},
	4: {false: readUint32, true: readInt32},
	2: {false: readUint16, true: readInt16},
	1: {false: readUint8, true: readInt8},
}

// setFields sets the fields of an event from the first one on, from a record that has the fixed parts of all. It returns how many it set,
// at the first whose value no setter takes, and false if the bytes of that one are not within the record.
//
// It is one loop: each field is a few instructions, and calls would take more than these.
func setFields(fields []recordField, raw []byte, ev *Event) (done int, within bool) {
	for i := range fields {
		f := &fields[i]
		var n uint64
		begin, size := f.offset, f.size
		switch f.reading {
		case readUint64:
			n = binary.NativeEndian.Uint64(raw[begin:])
		case readInt32:
			n = uint64(int32(binary.NativeEndian.Uint32(raw[begin:])))
		case readUint32:
			n = uint64(binary.NativeEndian.Uint32(raw[begin:]))
		case readInt16:
			n = uint64(int16(binary.NativeEndian.Uint16(raw[begin:])))
		case readUint16:
			n = uint64(binary.NativeEndian.Uint16(raw[begin:]))
		case readInt8:
			n = uint64(int8(raw[begin]))
		case readUint8:
			n = uint64(raw[begin])
		case readDynamic:
			location := binary.NativeEndian.Uint32(raw[begin:])
			if begin, size = int(location&0xFFFF)+f.base, int(location>>16); size == 0 {
				begin = 0
			}
			if size > len(raw)-begin || size&f.align != 0 {
				return i, false
			}
			fallthrough
		case readFixed:
			if (size == 0 || size == 1 && raw[begin] == 0) && f.skipsEmpty {
				continue
			}
			if !f.setBytes(raw[begin:begin+size], ev) {
				return i, true
			}
			continue
		default:
			return i, true
		}
		switch {
		case n == 0 && !f.empty:
		case f.number != nil:
			f.number(ev, n)
		case !f.upTo(ev, n):
			return i, true
		}
	}
	return len(fields), true
}

// setBytes sets a text or an array. It returns false if it is not valid for the field.
func (f *recordField) setBytes(b []byte, ev *Event) bool {
	if f.array != nil {
		return f.array(ev, b)
	}
	switch b = upToNUL(b); {
	case len(b) == 0 && !f.empty:
		return true
	case f.words != nil:
		f.words(ev, plain(b))
		return true
	default:
		return f.text(ev, b)
	}
}

// upToNUL returns a text up to its first NUL, which is where every consumer stops.
func upToNUL(b []byte) []byte {
	if n := len(b) - 1; n >= 0 && b[n] == 0 {
		b = b[:n] // most texts have one, at their end
	}
	if n := bytes.IndexByte(b, 0); n >= 0 {
		return b[:n]
	}
	return b
}
