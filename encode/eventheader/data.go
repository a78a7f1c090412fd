package eventheader

import "bytes"

func (c *Cursor) readValue() bool {
	rest := c.data[c.off:]
	e := c.field.typ.Encoding()
	start, size := 0, e.size()
	switch {
	case size > 0:
	case e.counted():
		if len(rest) < 2 {
			return c.fail("data", c.off, "count of a value is cut off")
		}
		start, size = 2, int(c.order.get16(rest))*e.unit()
	default:
		size = zeroUnit(rest, e.unit())
		if size < 0 {
			return c.fail("data", c.off, "zero-terminated string does not end")
		}
	}
	if size > len(rest)-start {
		return c.fail("data", c.off, "value is longer than the event")
	}
	c.value = rest[start : start+size]
	c.off += start + size
	if start == 0 && e.unit() > 0 {
		c.off += e.unit()
	}
	c.item = ItemValue
	return true
}

// zeroUnit returns the offset of the first zero unit, or -1.
func zeroUnit(b []byte, unit int) int {
	if unit == 1 {
		return bytes.IndexByte(b, 0)
	}
	var zero [4]byte
	for i := 0; i+unit <= len(b); i += unit {
		if bytes.Equal(b[i:i+unit], zero[:unit]) {
			return i
		}
	}
	return -1
}
