package typed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

// ErrMalformed is wrapped by the errors about records that do not fit their declaration.
var ErrMalformed = errors.New("malformed record")

// Decoder reads the records of one event. It does not change and may be used concurrently.
type Decoder struct {
	event   string
	order   binary.ByteOrder
	native  bool           // the order is this machine's
	fields  []decoderField // common ones first
	own     []decoderField // without the common ones
	dataLoc int            // what __data_loc offsets count from, as an offset in a record
	size    int            // of the fixed parts of all fields
	dynamic []int          // which fields have another part
}

// decoderField is a field as decoding needs it: a record has many, and their types are looked at for each.
type decoderField struct {
	name     string
	offset   int
	size     int // of the fixed part
	kind     Kind
	elem     tracepoint.Kind // of integers
	elemSize int             // 1 of a structure
	dynamic  bool            // the fixed part says where the bytes are
	base     int             // of a dynamic field: what that counts from, as an offset in a record
}

// NewDecoder returns a decoder of payloads: what a program writes after the write
// index. A nil order means the byte order of this machine. The event may be
// any that the kernel accepts, also one whose names [tracepoint.Declaration.Validate] refuses; the error,
// which wraps [tracepoint.ErrInvalid], is about types only.
func NewDecoder(d tracepoint.Declaration, order binary.ByteOrder) (*Decoder, error) {
	dec := newDecoder(d.Name, order)
	dec.dataLoc = -tracepoint.CommonSize
	offset := 0
	for _, f := range d.Fields {
		if err := dec.add(f.Name, f.Type, offset); err != nil {
			return nil, err
		}
		offset += f.Type.FixedSize()
	}
	dec.own = dec.fields
	return dec, nil
}

// NewFormatDecoder returns a decoder of raw records as ftrace and perf keep
// them: common fields and a payload. A nil order means the byte order of
// this machine. To decode payloads of the event, make a [NewDecoder] of its [tracepoint.Format.Declaration].
func NewFormatDecoder(f tracepoint.Format, order binary.ByteOrder) (*Decoder, error) {
	dec := newDecoder(f.Name, order)
	for _, field := range slices.Concat(f.Common, f.Fields) {
		offset := field.Offset
		if low := field.Size - field.Type.FixedSize(); low > 0 && dec.bigEndian() {
			offset += low // the low bytes of a register are behind the others
		}
		if err := dec.add(field.Name, field.Type, offset); err != nil {
			return nil, err
		}
	}
	dec.own = dec.fields[len(f.Common):]
	return dec, nil
}

func newDecoder(event string, order binary.ByteOrder) *Decoder {
	if order == nil {
		order = binary.NativeEndian
	}
	native := binary.NativeEndian.Uint16([]byte{1, 2}) == order.Uint16([]byte{1, 2})
	return &Decoder{event: event, order: order, native: native}
}

func (d *Decoder) bigEndian() bool { return d.order.Uint16([]byte{0, 1}) == 1 }

func (d *Decoder) add(name string, t tracepoint.Type, offset int) error {
	known := t.Kind.Size() > 0 || t.Kind == tracepoint.Struct && t.Location == tracepoint.Fixed
	if !known || t.Location > tracepoint.DataLoc || t.FixedSize() < 0 || offset < 0 {
		return fmt.Errorf("%w: event %q, field %q: records with the type %q at offset %d cannot be decoded",
			tracepoint.ErrInvalid, d.event, name, t, offset)
	}
	f := decoderField{
		name: name, offset: offset, size: t.FixedSize(),
		elem: t.Kind, elemSize: max(t.Kind.Size(), 1), dynamic: t.Location != tracepoint.Fixed, base: d.dataLoc,
	}
	if t.Location == tracepoint.RelLoc {
		f.base = offset + f.size
	}
	switch {
	case t.Kind == tracepoint.Struct:
		f.kind = KindBytes
	case typedfield.IsText(t):
		f.kind = KindText
	case t.Len > 0 || t.Location != tracepoint.Fixed:
		f.kind = KindArray
	case t.Kind.Signed():
		f.kind = KindInt
	default:
		f.kind = KindUint
	}
	if f.dynamic {
		d.dynamic = append(d.dynamic, len(d.fields))
	}
	if d.size = max(d.size, offset+f.size); d.size < 0 {
		d.size = math.MaxInt // of a sum that overflows: no record is so large
	}
	d.fields = append(d.fields, f)
	return nil
}

// Decode checks that all fields of the event are within data and returns a
// record that refers to it. Bytes after the last field are ignored, since perf pads records.
// The error wraps [ErrMalformed].
func (d *Decoder) Decode(data []byte) (Record, error) {
	whole := len(data) >= d.size
	for _, i := range d.dynamic {
		if !whole {
			break
		}
		_, whole = d.find(&d.fields[i], data)
	}
	if whole {
		return Record{decoder: d, data: data}, nil
	}
	for i := range d.fields {
		if err := d.check(&d.fields[i], data); err != nil {
			return Record{}, fmt.Errorf("%w: event %q, field %q: %w", ErrMalformed, d.event, d.fields[i].name, err)
		}
	}
	return Record{}, fmt.Errorf("%w: event %q: its bytes change", ErrMalformed, d.event)
}

// find finds the bytes of a field in data that has the fixed parts of all. It returns false if they are not within data.
func (d *Decoder) find(f *decoderField, data []byte) (b []byte, ok bool) {
	if !f.dynamic {
		return data[f.offset : f.offset+f.size], true
	}
	location := d.location(data[f.offset:])
	begin, n := int(location&0xFFFF)+f.base, int(location>>16)
	if n == 0 {
		return nil, true
	}
	if begin < 0 || n > len(data)-begin || n&(f.elemSize-1) != 0 { // sizes are powers of two
		return nil, false
	}
	return data[begin : begin+n], true
}

// check returns an error if the bytes of a field are not all within data.
func (d *Decoder) check(f *decoderField, data []byte) error {
	if f.size > len(data)-f.offset {
		return fmt.Errorf("%d bytes at offset %d, and the record has %d", f.size, f.offset, len(data))
	}
	if _, ok := d.find(f, data); ok {
		return nil
	}
	location := d.location(data[f.offset:])
	begin, n := int(location&0xFFFF)+f.base, int(location>>16)
	if begin < 0 || n > len(data)-begin {
		return fmt.Errorf("location 0x%08x: %d bytes at offset %d, and the record has %d", location, n, begin, len(data))
	}
	return fmt.Errorf("location 0x%08x: %d bytes are no array of %s", location, n, f.elem)
}

// value returns the value of a field of data that Decode found nothing wrong with.
func (d *Decoder) value(f *decoderField, data []byte) Value {
	if f.kind == KindUint {
		return Value{kind: KindUint, num: d.integer(data[f.offset : f.offset+f.size])}
	}
	b, ok := d.find(f, data)
	if !ok {
		return Value{} // data has changed since
	}
	switch f.kind {
	case KindText:
		return Value{kind: KindText, data: upToNUL(b)}
	case KindInt:
		return Value{kind: KindInt, num: d.signed(b)}
	case KindArray:
		return Value{kind: KindArray, elem: f.elem, order: d.order, data: b}
	default:
		return Value{kind: KindBytes, data: b}
	}
}

func (d *Decoder) location(b []byte) uint32 {
	if d.native {
		return binary.NativeEndian.Uint32(b)
	}
	return d.order.Uint32(b)
}

// signed returns the signed integer of 1, 2, 4 or 8 bytes, sign-extended.
func (d *Decoder) signed(b []byte) uint64 {
	unused := 64 - 8*len(b)
	return uint64(int64(d.integer(b)<<unused) >> unused)
}

// integer returns the unsigned integer of 1, 2, 4 or 8 bytes.
func (d *Decoder) integer(b []byte) uint64 {
	if !d.native {
		return unsigned(d.order, b)
	}
	switch len(b) {
	case 8:
		return binary.NativeEndian.Uint64(b)
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	default:
		return uint64(b[0])
	}
}
