// Package testattrs makes random values of attributes, for the tests of the exporters.
package testattrs

import (
	"math/rand/v2"

	"go.opentelemetry.io/otel/attribute"
)

// Values makes values of every type from texts, keys and numbers that a test chooses. Lists and maps have up to Most
// elements.
type Values struct {
	Rand  *rand.Rand
	Most  int
	Text  func() string
	Key   func() attribute.Key
	Int   func() int64
	Float func() float64
}

// Value returns a value with lists and maps nested up to that depth.
func (v *Values) Value(depth int) attribute.Value {
	kinds := 12
	if depth == 0 {
		kinds = 10
	}
	switch v.Rand.IntN(kinds) {
	case 0:
		return attribute.Value{}
	case 1:
		return attribute.BoolValue(v.bool())
	case 2:
		return attribute.Int64Value(v.Int())
	case 3:
		return attribute.Float64Value(v.Float())
	case 4:
		return attribute.StringValue(v.Text())
	case 5:
		return attribute.BoolSliceValue(list(v, v.bool))
	case 6:
		return attribute.Int64SliceValue(list(v, v.Int))
	case 7:
		return attribute.Float64SliceValue(list(v, v.Float))
	case 8:
		return attribute.StringSliceValue(list(v, v.Text))
	case 9:
		return attribute.ByteSliceValue([]byte(v.Text()))
	case 10:
		return attribute.SliceValue(list(v, func() attribute.Value { return v.Value(depth - 1) })...)
	default:
		return attribute.MapValue(list(v, func() attribute.KeyValue {
			return attribute.KeyValue{Key: v.Key(), Value: v.Value(depth - 1)}
		})...)
	}
}

func (v *Values) bool() bool { return v.Rand.IntN(2) == 0 }

func list[E any](v *Values, one func() E) []E {
	l := make([]E, v.Rand.IntN(v.Most+1))
	for i := range l {
		l[i] = one()
	}
	return l
}
