package eventheader

import (
	"fmt"
	"math"
)

// compiler makes the metadata and the slots of a schema.
type compiler struct {
	s     *Schema
	depth int // structs around the field
	floor int
	items int
}

// field adds one field, whose path is that of the structs around it.
func (c *compiler) field(f Field, path string) error {
	path += f.Name
	if err := c.check(f); err != nil {
		return fmt.Errorf("field %q: %w", path, err)
	}
	c.meta(f)
	var err error
	if f.Array == 0 {
		err = c.element(f, path)
	} else {
		err = c.array(f, path)
	}
	switch {
	case err != nil:
		return err
	case c.items > maxItems:
		return invalidf("field %q: item %d, decoders take %d", path, c.items, maxItems)
	case c.floor > MaxLimit:
		return invalidf("field %q: %d bytes at least, the limit is %d", path, c.floor, MaxLimit)
	}
	return nil
}

// array adds the slots of an array: one at its beginning, those of an element,
// and one at its end.
func (c *compiler) array(f Field, path string) error {
	begin := len(c.s.slots)
	c.s.slots = append(c.s.slots, slot{})
	element := compiler{s: c.s, depth: c.depth}
	if err := element.element(f, path); err != nil {
		return err
	}
	c.s.slots = append(c.s.slots, slot{op: opEnd, n: int32(begin + 1)})
	c.items += 2
	if f.Array > 0 {
		// Both factors are below the limits, so that the product fits 32 bits.
		c.items += min(f.Array, maxItems+1) * element.items
		c.floor += min(f.Array, maxItems+1) * element.floor
		c.s.slots[begin] = slot{op: opFixed, n: int32(f.Array), name: path}
		return nil
	}
	c.floor += 2
	if f.Type.Encoding().size() > 0 {
		element.floor = 0 // such an array can be cut, like a text
	}
	c.s.slots[begin] = slot{
		op: opArray, n: int32(len(c.s.slots)), name: path, typ: f.Type,
		floor: int32(element.floor), items: int32(element.items),
	}
	return nil
}

func (c *compiler) check(f Field) error {
	if err := checkName(f.Name); err != nil {
		return err
	}
	switch {
	case f.Array < Variable || f.Array > math.MaxUint16:
		return invalidf("array of %d elements", f.Array)
	case f.Type != TypeStruct && len(f.Fields) > 0:
		return invalidf("type %v has no children", f.Type)
	case f.Type != TypeStruct && !f.Type.fits():
		return invalidf("type %v does not exist", f.Type)
	case f.Type != TypeStruct:
		return nil
	case len(f.Fields) == 0 || len(f.Fields) > maxStructSize:
		return invalidf("%d children, a struct has 1 to %d", len(f.Fields), maxStructSize)
	case c.depth == maxNesting:
		return invalidf("more than %d levels of structs", maxNesting)
	}
	return nil
}

// meta appends the metadata of a field.
func (c *compiler) meta(f Field) {
	b := append(append(c.s.prefix, f.Name...), 0)
	enc, format := byte(f.Type.Encoding()), byte(f.Type.Format())
	if f.Type == TypeStruct {
		format = byte(len(f.Fields))
	}
	switch {
	case f.Array > 0:
		enc |= flagFixed
	case f.Array == Variable:
		enc |= flagVariable
	}
	switch {
	case f.Tag != 0:
		b = c.s.order.append16(append(b, enc|chainFlag, format|chainFlag), f.Tag)
	case format != 0:
		b = append(b, enc|chainFlag, format)
	default:
		b = append(b, enc)
	}
	if f.Array > 0 {
		b = c.s.order.append16(b, uint16(f.Array))
	}
	c.s.prefix = b
}

// element adds the slots of a value or of a struct's children.
func (c *compiler) element(f Field, path string) error {
	if f.Type == TypeStruct {
		c.items += 2
		c.depth++
		defer func() { c.depth-- }()
		for _, child := range f.Fields {
			if err := c.field(child, path+"."); err != nil {
				return err
			}
		}
		return nil
	}
	s, floor := f.Type.slot()
	s.name = path
	c.s.slots = append(c.s.slots, s)
	c.floor += floor
	c.items++
	return nil
}

// slot returns the slot of a value and the least number of bytes that it takes.
func (t Type) slot() (slot, int) {
	e, f := t.Encoding(), t.Format()
	size := e.size()
	s := slot{typ: t}
	switch {
	case t.nullable():
		s.op = opNullable
		size = nullableSizes[f]
	case e.unit() > 0 && (f == FormatHexBytes && e.unit() == 1 && e.counted() || t == TypeBytes):
		s.op = opBytes
	case t == TypeString || e == String8 && f == FormatUTF:
		s.op = opUTF8
	case e.unit() > 0:
		s.op = opText
	case f == FormatHexBytes || f == FormatIP || e == Value128:
		s.op = opRaw
	case f == FormatBool && e == Value8:
		s.op = opBool
	case f == FormatBool:
		s.op = opWideBool
	case f == FormatFloat:
		s.op = opFloat
	case f == FormatPort || f == FormatUTF:
		s.op = opSpecial
	case e == Value64 && (f == FormatSigned || f == FormatTime):
		s.op = opInt64
	case e == Value64:
		s.op = opUint64
	default:
		s.op = opNumber
	}
	s.size = uint8(size)
	if s.op >= opInt64 && s.op <= opSpecial || s.op == opNullable && size > 0 {
		s.max = math.MaxUint64 >> (64 - 8*size)
		if f == FormatSigned || f == FormatErrno || f == FormatPID || f == FormatTime {
			s.max >>= 1
			s.min = -1 - int64(s.max)
		}
	}
	switch {
	case s.op == opNullable:
		return s, 2 + 16
	case e.counted():
		return s, 2
	case size == 0:
		return s, e.unit()
	}
	return s, size
}

// nullableSizes are the bytes of a number that may be null. The others are
// given as bytes.
var nullableSizes = [formatOldIP]int{
	FormatUnsigned: 8, FormatSigned: 8, FormatHex: 8, FormatTime: 8, FormatErrno: 4, FormatPID: 4, FormatPort: 2,
}
