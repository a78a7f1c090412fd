package reader

import (
	"github.com/userevents/userevents-go/encode/typed"
)

// decodeTyped decodes a record of consecutive fields.
func (d *Decoder) decodeTyped(raw []byte, ev *Event) error {
	r, err := d.typed.Decode(raw)
	if err != nil {
		return err
	}
	if d.layout == nil || d.layout.applies != nil && !d.layout.applies(r) {
		for i := range r.Len() {
			name, v := r.Field(i)
			ev.Fields = append(ev.Fields, Field{Name: name, Value: ev.scratch.typed(v)})
		}
		return nil
	}
	ev.Kind = d.layout.kind
	if ev.Kind == Metric {
		ev.Point = ev.scratch.point.begin(d.layout.point)
	}
	for i, set := range d.setters {
		name, v := r.Field(i)
		if set == nil || !set(ev, v) {
			ev.Fields = append(ev.Fields, Field{Name: name, Value: ev.scratch.own(v)})
		}
	}
	if d.layout.finish != nil {
		d.layout.finish(d, ev)
	}
	ev.Fields = ev.scratch.unique(ev.Fields, 0)
	return nil
}

// own returns the value of a field of this module's adapters, which escape texts.
func (s *scratch) own(v typed.Value) Value {
	if isTextValue(v) {
		return StringValue(plain(v.Bytes()))
	}
	return s.typed(v)
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
