package output

import (
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/reader"
)

// element is how an element of an array is written and read.
type element[E any] struct {
	append func(b []byte, e *E, c *clock) []byte
	parse  func(v reader.Value) (E, error)
}

var (
	floats = element[float64]{func(b []byte, e *float64, _ *clock) []byte { return attrjson.AppendFloat(b, *e) }, parseFloat}
	counts = element[uint64]{func(b []byte, e *uint64, _ *clock) []byte { return attrjson.AppendUint(b, *e) }, parseCount}
)

// objects are the elements of an array that have members.
func objects[E any](members []member[E]) element[E] {
	return element[E]{
		append: func(b []byte, e *E, c *clock) []byte { return appendObject(b, members, e, c) },
		parse: func(v reader.Value) (e E, err error) {
			err = parseObject(members, &e, v)
			return e, err
		},
	}
}

func array[T, E any](name, doc string, e element[E], at func(*T) *[]E) member[T] {
	return member[T]{
		name: name, kind: anArray, doc: doc,
		append: func(b []byte, from *T, c *clock, _ bool) []byte {
			list := *at(from)
			if len(list) == 0 {
				return b
			}
			for i := range list {
				b = append(b, "[,"[min(i, 1)])
				b = e.append(b, &list[i], c)
			}
			return append(b, ']')
		},
		parse: func(to *T, v reader.Value) error {
			for _, f := range v.Fields() {
				one, err := e.parse(f.Value)
				if err != nil {
					return err
				}
				*at(to) = append(*at(to), one)
			}
			return nil
		},
	}
}

// appendObject appends the members that from has as an object.
func appendObject[T any](b []byte, members []member[T], from *T, c *clock) []byte {
	b = append(b, '{')
	first := len(b)
	for i := range members {
		m := &members[i]
		start := len(b)
		if start > first {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), m.name...), `":`...)
		value := len(b)
		if b = m.append(b, from, c, true); len(b) == value {
			b = b[:start]
		}
	}
	return append(b, '}')
}

// parseObject reads the members of an object. It ignores unknown ones: later versions may add some.
func parseObject[T any](members []member[T], to *T, v reader.Value) error {
	for _, f := range v.Fields() {
		for i := range members {
			if members[i].name == f.Name {
				if err := members[i].parse(to, f.Value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
