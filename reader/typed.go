package reader

import (
	"github.com/userevents/userevents-go/encode/typed"
)

// decodeTyped decodes a record with one field after the other.
func (d *Decoder) decodeTyped(raw []byte, ev *Event) error {
	r, err := d.typed.Decode(raw)
	if err != nil {
		return err
	}
	for i := range r.Len() {
		name, v := r.Field(i)
		ev.Fields = append(ev.Fields, Field{Name: name, Value: ev.scratch.typed(v)})
	}
	return nil
}

// typed returns the value of a field.
func (s *scratch) typed(v typed.Value) Value {
	switch v.Kind() {
	case typed.KindInt:
		return Int64Value(v.Int64())
	case typed.KindUint:
		return Uint64Value(v.Uint64())
	case typed.KindText:
		return StringValue(stringOf(v.Bytes()))
	case typed.KindBytes:
		return BytesValue(v.Bytes())
	case typed.KindArray:
		if len(v.Bytes()) == v.Len() {
			return BytesValue(v.Bytes())
		}
		base := len(s.stack)
		for i := range v.Len() {
			s.stack = append(s.stack, Field{Value: s.typed(v.At(i))})
		}
		return ListValue(s.end(base))
	default:
		return Value{}
	}
}
