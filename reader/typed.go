package reader

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"github.com/userevents/userevents-go/encode/typed"
)

// decodeTyped decodes a record of consecutive fields.
func (d *Decoder) decodeTyped(raw []byte, ev *Event, mode DecodeMode) error {
	if d.whole && mode != DecodePlain {
		if d.set(raw, nil, ev, mode == DecodeJSON && d.keepsJSON) {
			return nil
		}
		_, err := d.typed.Decode(raw)
		return cmp.Or(err, errChanged)
	}
	r, err := d.typed.Decode(raw)
	if err != nil {
		return err
	}
	if d.layout == nil || mode == DecodePlain || d.layout.applies != nil && !d.layout.applies(r) {
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
	if !d.set(raw, &r, ev, mode == DecodeJSON && d.keepsJSON) {
		return errChanged
	}
	return nil
}

var errChanged = errors.New("its bytes change")

// set sets the fields of an event by the layout. r is the decoded record, or nil if all fields have a setter. keepJSON allows it to
// set FieldsJSON. It returns false if the bytes of a field are not within the record.
func (d *Decoder) set(raw []byte, r *typed.Record, ev *Event, keepJSON bool) bool {
	if len(raw) < d.size {
		return false
	}
	ev.scratch.layout, ev.scratch.keepJSON = d.layout, keepJSON
	ev.Kind = d.layout.kind
	if ev.Kind == KindMetric {
		ev.Point = ev.scratch.newPoint(d.layout.point)
	}
	done, within := setFields(d.fields, raw, ev)
	for done < len(d.fields) { // the value of this one is not valid for it
		if !within || !d.keep(done, raw, r, ev) {
			return false
		}
		from := done + 1
		done, within = setFields(d.fields[from:], raw, ev)
		done += from
	}
	if ev.FieldsJSON != "" && len(ev.Fields) > 0 {
		ev.begin(d)
		return d.set(raw, r, ev, false)
	}
	if len(ev.scratch.declared) > 0 && len(ev.Fields) > len(ev.scratch.declared) {
		d.separate(ev)
	}
	if d.layout.finish != nil {
		d.layout.finish(d, ev)
	}
	if len(ev.Fields) > 1 {
		ev.Fields = ev.scratch.unique(ev.Fields, 0)
	}
	return true
}

// keep appends field i, which no setter took, to the fields of the event.
func (d *Decoder) keep(i int, raw []byte, r *typed.Record, ev *Event) bool {
	if r == nil {
		decoded, err := d.typed.Decode(raw)
		if err != nil {
			return false
		}
		r = &decoded
	}
	name, v := r.Field(i)
	ev.scratch.declared = append(ev.scratch.declared, len(ev.Fields))
	ev.Fields = append(ev.Fields, Field{Name: name, Value: ev.scratch.own(v)})
	return true
}

// separate gives attributes other names that have that of a declared field: NAME_2. A program has both if the value of an attribute does not
// fit its field, or if a logger has the attribute, too. The field is the one that the kernel's filters see.
func (d *Decoder) separate(ev *Event) {
	declared := ev.scratch.declared
	for i := range ev.Fields {
		if slices.Contains(declared, i) {
			continue
		}
		name := ev.Fields[i].Name
		for _, j := range declared {
			if own := ev.Fields[j].Name; own == name || declaredAs(own, name) {
				ev.Fields[i].Name = name + "_2"
				break
			}
		}
	}
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
