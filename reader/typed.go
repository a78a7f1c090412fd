package reader

import (
	"cmp"
	"errors"
	"strconv"

	"github.com/userevents/userevents-go/encode/typed"
)

// decodeTyped decodes a record of consecutive fields.
func (d *Decoder) decodeTyped(raw []byte, ev *Event, mode DecodeMode) error {
	var r typed.Record
	var err error
	recognised := d.layout != nil && mode != DecodePlain
	if recognised && d.whole {
		r, err = d.typed.DecodeLazily(raw) // set checks each field
	} else {
		r, err = d.typed.Decode(raw)
	}
	if err != nil {
		return err
	}
	if !recognised || d.layout.applies != nil && !d.layout.applies(r) {
		for i := range r.Len() {
			name, v := r.Field(i)
			ev.Fields = append(ev.Fields, Field{Name: name, Value: ev.scratch.typed(v)})
		}
		for _, i := range d.pointers { // of the kernel's events only
			v := &ev.Fields[i].Value
			*v = StringValue("0x" + strconv.FormatUint(v.Uint64(), 16))
		}
		return nil
	}
	ok := d.set(r, ev, mode == DecodeJSON && d.keepsJSON)
	if ok && ev.FieldsJSON != "" && len(ev.Fields) > 0 { // a value is not valid for its field
		ev.begin(d)
		ok = d.set(r, ev, false)
	}
	if !ok {
		_, err = d.typed.Decode(raw)
		return cmp.Or(err, errChanged)
	}
	return nil
}

var errChanged = errors.New("its bytes change")

// set sets the fields of an event by the layout. keepJSON allows it to set FieldsJSON. It returns false if the bytes of a
// field are not within the record.
func (d *Decoder) set(r typed.Record, ev *Event, keepJSON bool) bool {
	ev.scratch.layout, ev.scratch.keepJSON = d.layout, keepJSON
	ev.Kind = d.layout.kind
	if ev.Kind == KindMetric {
		ev.Point = ev.scratch.newPoint(d.layout.point)
	}
	for i := range d.setters {
		set, valid := &d.setters[i], false
		switch {
		case set.number != nil:
			valid = set.number(ev, r.Uint64(i))
		case set.text != nil:
			b, ok := r.Bytes(i)
			if !ok {
				return false
			}
			valid = set.text(ev, b)
		}
		if !valid {
			name, v := r.Field(i)
			ev.Fields = append(ev.Fields, Field{Name: name, Value: ev.scratch.own(v)})
		}
	}
	if d.layout.finish != nil {
		d.layout.finish(d, ev)
	}
	ev.Fields = ev.scratch.unique(ev.Fields, 0)
	return true
}

// own returns the value of a field of this module's adapters, which escape texts.
func (s *scratch) own(v typed.Value) Value {
	if v.Kind() == typed.KindText {
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
