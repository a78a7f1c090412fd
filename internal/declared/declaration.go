package declared

import (
	"cmp"
	"fmt"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/eventset"
	"github.com/userevents/userevents-go/internal/payload"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

// Declaration declares the log records with one message or event name: they have an event of their own, with the fields of a
// struct type.
type Declaration struct {
	Selector string // the message or the event name
	Name     string // of the event, without what all names of the adapter begin with
	Fields   []typedfield.StructField
	Err      error // what is wrong with the struct type or the name
}

// New returns the declaration of the struct type T, and what writes values of T. An empty name means the selector, as
// [typed.FieldName] makes a name of it.
func New[T any](selector, name string) (Declaration, *typedfield.Fields[T]) {
	d := Declaration{Selector: selector, Name: cmp.Or(name, typed.FieldName(selector))}
	fields, err := typedfield.FieldsOf[T]()
	if d.Err = err; err == nil {
		d.Fields = fields.List()
	}
	return d, fields
}

// Check returns what is wrong with a declaration, whatever the event's other fields are.
func (d *Declaration) Check() error {
	if d.Err == nil && d.Fields == nil {
		return fmt.Errorf("%w: the declaration is empty: make it with Declare", tracepoint.ErrInvalid)
	}
	return d.Err
}

// Layout returns the schema of the event with a suffix, which has the declared fields between others, and those of them that
// attributes can have.
func (d *Declaration) Layout(set *eventset.Set, suffix string, head, tail []payload.Field) (*payload.Schema, []Field, error) {
	list := append([]payload.Field{}, head...)
	for _, f := range d.Fields {
		list = append(list, payloadField(f))
	}
	schema, err := set.NewSchema(suffix, append(list, tail...))
	if err != nil {
		return nil, nil, err
	}
	fields := make([]Field, 0, len(d.Fields))
	names := map[string]string{} // of fields by keys
	for i, sf := range d.Fields {
		f, ok := newField(sf, schema.At[len(head)+i])
		if !ok {
			continue
		}
		for _, key := range f.Keys() {
			if other, taken := names[key]; taken {
				return nil, nil, fmt.Errorf("%w: the attribute %q is for two fields, %s and %s: rename one of them", tracepoint.ErrInvalid, key, other, f.Name)
			}
			names[key] = f.Name
		}
		fields = append(fields, f)
	}
	return schema, fields, nil
}

func payloadField(f typedfield.StructField) payload.Field {
	p := payload.Field{Name: f.Name, Type: f.Type, Class: payload.Text, Size: f.Size}
	switch {
	case f.Type.Location == tracepoint.Fixed, f.Kind == typedfield.GoID, f.Kind == typedfield.GoFloat:
		p.Class = payload.Number
	case f.Type.Kind != tracepoint.Char:
		p.Class = payload.Array
	}
	return p
}
