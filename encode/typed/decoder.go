package typed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/userevents/userevents-go/tracepoint"
)

// ErrMalformed is wrapped by the errors about records that do not fit their declaration.
var ErrMalformed = errors.New("malformed record")

// Decoder reads the records of one event. It does not change and may be used concurrently.
type Decoder struct {
	event   string
	order   binary.ByteOrder
	fields  []decoderField // common ones first
	common  int
	dataLoc int // what __data_loc offsets count from, as an offset in a record
}

type decoderField struct {
	name   string
	typ    tracepoint.Type
	offset int
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
	return dec, nil
}

// NewFormatDecoder returns a decoder of raw records as ftrace and perf keep
// them: common fields and a payload. A nil order means the byte order of
// this machine. To decode payloads of the event, make a [NewDecoder] of its [tracepoint.Format.Declaration].
func NewFormatDecoder(f tracepoint.Format, order binary.ByteOrder) (*Decoder, error) {
	dec := newDecoder(f.Name, order)
	dec.common = len(f.Common)
	for _, field := range slices.Concat(f.Common, f.Fields) {
		if err := dec.add(field.Name, field.Type, field.Offset); err != nil {
			return nil, err
		}
	}
	return dec, nil
}

func newDecoder(event string, order binary.ByteOrder) *Decoder {
	if order == nil {
		order = binary.NativeEndian
	}
	return &Decoder{event: event, order: order}
}

func (d *Decoder) add(name string, t tracepoint.Type, offset int) error {
	known := t.Kind.Size() > 0 || t.Kind == tracepoint.Struct && t.Location == tracepoint.Fixed
	if !known || t.Location > tracepoint.DataLoc || t.FixedSize() < 0 || offset < 0 {
		return fmt.Errorf("%w: event %q, field %q: records with the type %q at offset %d cannot be decoded",
			tracepoint.ErrInvalid, d.event, name, t, offset)
	}
	d.fields = append(d.fields, decoderField{name: name, typ: t, offset: offset})
	return nil
}

// Decode checks that all fields of the event are within data and returns a
// record that refers to it. Bytes after the last field are ignored, since perf pads records.
// The error wraps [ErrMalformed].
func (d *Decoder) Decode(data []byte) (Record, error) {
	for i := range d.fields {
		if _, err := d.bytes(&d.fields[i], data); err != nil {
			return Record{}, fmt.Errorf("%w: event %q, field %q: %w", ErrMalformed, d.event, d.fields[i].name, err)
		}
	}
	return Record{decoder: d, data: data}, nil
}

// bytes finds the bytes of a field.
func (d *Decoder) bytes(f *decoderField, data []byte) ([]byte, error) {
	size := f.typ.FixedSize()
	if size > len(data)-f.offset {
		return nil, fmt.Errorf("%d bytes at offset %d, and the record has %d", size, f.offset, len(data))
	}
	fixed := data[f.offset : f.offset+size]
	if f.typ.Location == tracepoint.Fixed {
		return fixed, nil
	}
	location := d.order.Uint32(fixed)
	begin, n := int(location&0xFFFF), int(location>>16)
	if f.typ.Location == tracepoint.RelLoc {
		begin += f.offset + locSize
	} else {
		begin += d.dataLoc
	}
	switch {
	case n == 0:
		return nil, nil
	case begin < 0 || n > len(data)-begin:
		return nil, fmt.Errorf("location 0x%08x: %d bytes at offset %d, and the record has %d", location, n, begin, len(data))
	case n%f.typ.Kind.Size() != 0:
		return nil, fmt.Errorf("location 0x%08x: %d bytes are no array of %s", location, n, f.typ.Kind)
	}
	return data[begin : begin+n], nil
}

// value returns the value of a field of data that Decode found nothing wrong with.
func (d *Decoder) value(f *decoderField, data []byte) Value {
	b, err := d.bytes(f, data)
	switch {
	case err != nil:
		return Value{} // data has changed since
	case f.typ.Kind == tracepoint.Struct:
		return Value{kind: KindBytes, data: b}
	case isText(f.typ):
		return Value{kind: KindText, data: upToNUL(b)}
	case f.typ.Len > 0 || f.typ.Location != tracepoint.Fixed:
		return Value{kind: KindArray, elem: f.typ.Kind, order: d.order, data: b}
	}
	return integer(f.typ.Kind, d.order, b)
}
