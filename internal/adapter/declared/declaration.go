// Package declared is about log records that a program declares, so that attributes become fields
// of their own in an event: the struct types that declare them, which values the fields
// take, and how these are written. The adapters of all loggers hand values over as [slog.Value].
package declared

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

// Declaration declares the log records with one message or event name: they have an event of their own, with the fields of a
// struct type. L is the type of levels.
type Declaration[L any] struct {
	Selector string // the message or the event name
	Name     string // of the event, without what all names of the adapter begin with
	Levels   []L    // at which the program logs the records; none means all
	Fields   []typedfield.StructField
	Err      error // what is wrong with the struct type or the name
}

// New returns the declaration of the struct type T, and what writes values of T. An empty name means the selector, as
// [typed.FieldName] makes a name of it.
func New[T, L any](selector, name string, levels []L) (Declaration[L], *typedfield.Fields[T]) {
	d := Declaration[L]{Selector: selector, Name: cmp.Or(name, typed.FieldName(selector)), Levels: slices.Clone(levels)}
	fields, err := typedfield.FieldsOf[T]()
	if d.Err = err; err == nil {
		d.Fields = fields.List()
	}
	return d, fields
}

// Register calls register for the declarations of a list, whose elements of returns. Its errors, and those about the declarations
// themselves, are errors of the set.
func Register[A comparable, L any](set *eventset.Set, list []A, of func(A) *Declaration[L], register func(*Declaration[L]) error) {
	taken := map[string]bool{}
	var none A
	for _, a := range list {
		if a == none || of(a) == nil {
			set.Invalid(fmt.Errorf("%w: a declaration is nil", tracepoint.ErrInvalid))
			continue
		}
		d := of(a)
		err := d.check()
		if err == nil && taken[d.Selector] {
			err = fmt.Errorf("%w: it is declared twice", tracepoint.ErrInvalid)
		}
		if err == nil {
			err = register(d)
		}
		if err != nil {
			set.Invalid(fmt.Errorf("declaration of %q: %w", d.Selector, err))
			continue
		}
		taken[d.Selector] = true
	}
}

// check returns what is wrong with a declaration, whatever the event's other fields are.
func (d *Declaration[L]) check() error {
	if d.Err == nil && d.Fields == nil {
		return fmt.Errorf("%w: the declaration is empty: make it with Declare", tracepoint.ErrInvalid)
	}
	return d.Err
}

// Layout returns the schema of the event with a suffix, which has the declared fields between others, and those of them that
// attributes can have.
func (d *Declaration[L]) Layout(set *eventset.Set, suffix string, head, tail []payload.Field) (*payload.Schema, []Field, error) {
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

// Field is a declared field that attributes can have. Without a value it is zero or empty.
type Field struct {
	Key      string // of the attribute
	Alias    string // the key without the unit that it ends in, or else the key
	Name     string
	Kind     typedfield.GoKind // GoString also of an address, which is its text
	Scale    float64           // of a floating-point number that is written as an integer, or 0
	Min, Max int64             // range of an integer, as far as an int64 has it
	Text     bool              // its value is behind the fixed part

	most uint64 // the largest integer
	at   int    // offset in a payload
	size int    // of a number in bytes
}

// newField returns a field of a struct at an offset. It is not ok if no attribute can have the field: an array, or an id in hex
// digits.
func newField(sf typedfield.StructField, at int) (f Field, ok bool) {
	f = Field{Key: sf.Key, Alias: sf.Key, Name: sf.Name, Kind: sf.Kind, Scale: float64(sf.Scale), at: at, size: sf.Type.Kind.Size()}
	unit := ""
	switch sf.Kind {
	case typedfield.GoString, typedfield.GoFloat:
	case typedfield.GoBool:
		f.most = 1
	case typedfield.GoInt: // the event may have a larger field
		f.Min, f.most = -1<<(sf.Bits-1), 1<<(sf.Bits-1)-1
	case typedfield.GoUint:
		f.most = math.MaxUint64 >> (64 - sf.Bits)
	case typedfield.GoDuration:
		f.Min, f.most, unit = math.MinInt64, math.MaxInt64, "_ns"
	case typedfield.GoTime:
		f.most, unit = math.MaxUint64, "_unix_nano"
	case typedfield.GoOther:
		if sf.Type.Kind != tracepoint.Char {
			return f, false
		}
		f.Kind = typedfield.GoString
	default:
		return f, false
	}
	f.Max = int64(min(f.most, math.MaxInt64))
	f.Text = f.Kind == typedfield.GoString || f.Kind == typedfield.GoFloat && f.Scale == 0
	if rest := strings.TrimSuffix(sf.Key, unit); rest != "" {
		f.Alias = rest
	}
	return f, true
}

// Keys returns the keys that an attribute for the field may have, the usual one first.
func (f *Field) Keys() []string {
	if f.Alias == f.Key {
		return []string{f.Key}
	}
	return []string{f.Alias, f.Key}
}

// Put writes a value that Convert returned.
func (f *Field) Put(b *payload.Builder, num uint64, s string) {
	switch {
	case f.Kind == typedfield.GoString:
		b.Text(f.at, s)
	case f.Text:
		var digits [32]byte
		b.Text(f.at, string(text.AppendFloat(digits[:0], math.Float64frombits(num), 64)))
	case f.size == 1:
		b.PutU8(f.at, uint8(num))
	case f.size == 2:
		b.PutU16(f.at, uint16(num))
	case f.size == 4:
		b.PutU32(f.at, uint32(num))
	default:
		b.PutU64(f.at, num)
	}
}
