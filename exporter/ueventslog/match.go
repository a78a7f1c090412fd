package ueventslog

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/exporter/ueventslog/internal/logattrs"
	"github.com/userevents/userevents-go/internal/declared"
)

// maxFields is more than a declaration of 511 bytes has room for.
const maxFields = 48

// values are those of the declared fields of a record. They live on the stack.
type values [maxFields]struct {
	attribute int // its number, from 1 on; 0 without a value
	num       uint64
	text      string
}

// match finds the values of fields. It returns how many attributes have values that cannot be converted; they stay attributes.
func (v *values) match(a logattrs.Attributes, fields []declared.Field) (unconverted uint64) {
	n := 0
	a.Walk(func(kv attribute.KeyValue) bool {
		n++
		for i := range fields {
			f := &fields[i]
			if string(kv.Key) != f.Alias && string(kv.Key) != f.Key {
				continue
			}
			if num, text, ok := f.Convert(neutral(kv.Value)); ok {
				v[i].attribute, v[i].num, v[i].text = n, num, text
			} else {
				unconverted++
			}
			break
		}
		return true
	})
	return unconverted
}

// has reports whether an attribute is the value of one of n fields.
func (v *values) has(attribute, n int) bool {
	for i := range v[:n] {
		if v[i].attribute == attribute {
			return true
		}
	}
	return false
}

// neutral returns a value as package declared knows it. It has no lists and maps.
func neutral(v attribute.Value) declared.Value {
	switch v.Type() {
	case attribute.BOOL:
		return declared.BoolValue(v.AsBool())
	case attribute.INT64:
		return declared.IntValue(v.AsInt64())
	case attribute.FLOAT64:
		return declared.FloatValue(v.AsFloat64())
	case attribute.STRING:
		return declared.TextValue(v.AsString())
	default:
		return declared.Value{}
	}
}
