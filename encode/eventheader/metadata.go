package eventheader

import "bytes"

// field is what the metadata says about a field. It is small, so that a cursor is. The metadata of an event has at
// most 65535 bytes, that of one which has yet to be cut may have more.
type field struct {
	nameAt, nameEnd uint32 // in meta
	typeAt          uint32
	typ             Type
	tag             uint16
	count           uint16 // of an array
	array           uint8  // flagFixed, flagVariable or 0
}

// readMeta reads a field's name, type and tag, and the count of a fixed array.
func (c *Cursor) readMeta() bool {
	n := bytes.IndexByte(c.meta[c.pos:], 0)
	if n < 0 {
		return c.fail("metadata", c.pos, "field name does not end")
	}
	if !c.step(1 + n/nameStep) {
		return false
	}
	at := c.pos + n + 1 // of the type
	f := field{nameAt: uint32(c.pos), nameEnd: uint32(at - 1), typeAt: uint32(at)}
	b := c.meta[at:]
	if len(b) == 0 {
		return c.fail("metadata", at, "field type is cut off")
	}
	enc, format := b[0], byte(0)
	b = b[1:]
	if enc&chainFlag != 0 {
		if len(b) == 0 {
			return c.fail("metadata", at, "field format is cut off")
		}
		format, b = b[0], b[1:]
		if format&chainFlag != 0 {
			if len(b) < 2 {
				return c.fail("metadata", at, "field tag is cut off")
			}
			f.tag, b = c.order.get16(b), b[2:]
		}
	}
	f.typ = TypeOf(Encoding(enc&encodingMask), Format(format&formatMask))
	f.array = enc & flagArray
	switch e := f.typ.Encoding(); {
	case e == 0 || e > maxEncoding:
		return c.fail("metadata", at, "reserved encoding")
	case f.array == flagArray:
		return c.fail("metadata", at, "array of both fixed and variable count")
	case e == Struct && f.typ.Format() == 0:
		return c.fail("metadata", at, "struct without children")
	}
	if f.array == flagFixed {
		if len(b) < 2 {
			return c.fail("metadata", at, "count of a fixed array is cut off")
		}
		f.count, b = c.order.get16(b), b[2:]
		if f.count == 0 {
			return c.fail("metadata", at, "fixed array without elements")
		}
	}
	c.field = f
	c.pos = len(c.meta) - len(b)
	return true
}

// skipMeta skips the metadata of n fields and their children.
func (c *Cursor) skipMeta(n int) bool {
	for ; n > 0 && c.pos < len(c.meta); n-- {
		if !c.readMeta() {
			return false
		}
		if c.field.typ.Encoding() == Struct {
			n += int(c.field.typ.Format())
		}
	}
	return true
}
