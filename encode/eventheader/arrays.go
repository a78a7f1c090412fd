package eventheader

import "math"

// Strings adds an array of texts in UTF-8.
func (e *Encoder) Strings(name string, v []string) {
	if !e.array(name, TypeString, 2) {
		return
	}
	count := len(e.data)
	e.data = e.order.append16(e.data, 0)
	n := 0
	for _, s := range v {
		size := 2 + min(len(s), minText)
		if size > e.room || e.items == 0 {
			e.lost++
			break
		}
		e.room -= size
		e.items--
		e.data, _ = e.order.appendText(e.data, TypeString, s, e.limit)
		n++
	}
	e.order.put16(e.data[count:], uint16(n))
}

// Uint64s adds an array of unsigned integers.
func (e *Encoder) Uint64s(name string, v []uint64) {
	for _, x := range v[:e.values(name, TypeUint64, len(v))] {
		e.data = e.order.append64(e.data, x)
	}
}

// Int64s adds an array of signed integers.
func (e *Encoder) Int64s(name string, v []int64) {
	for _, x := range v[:e.values(name, TypeInt64, len(v))] {
		e.data = e.order.append64(e.data, uint64(x))
	}
}

// Float64s adds an array of floating-point numbers.
func (e *Encoder) Float64s(name string, v []float64) {
	for _, x := range v[:e.values(name, TypeFloat64, len(v))] {
		e.data = e.order.append64(e.data, math.Float64bits(x))
	}
}

// Bools adds an array of booleans.
func (e *Encoder) Bools(name string, v []bool) {
	for _, x := range v[:e.values(name, TypeBool, len(v))] {
		e.data = append(e.data, bit(x))
	}
}

// values begins an array of n values of a fixed size and returns how many of them to append.
func (e *Encoder) values(name string, t Type, n int) int {
	size := t.Encoding().size()
	if !e.array(name, t, 2+min(n*size, minText)) {
		return 0
	}
	take := min(n, e.items)
	if take < n {
		e.lost++
	}
	e.items -= take
	// End cuts what goes beyond the limit, and counts it.
	take = min(take, e.limit/size)
	e.data = e.order.append16(e.data, uint16(take))
	return take
}

// array begins an array of variable count.
func (e *Encoder) array(name string, t Type, size int) bool {
	if e.items == 0 && e.skipped == 0 {
		e.lost++
		return false
	}
	if !e.field(name, t|flagVariable, size) {
		return false
	}
	e.items-- // its end is one more item
	return true
}
