// Package declared is about log records that a program declares, so that attributes become fields
// of their own in an event: the struct types that declare them, which values the fields
// take, and how these are written. The adapters of all loggers hand values over as [slog.Value].
package declared

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"strings"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/internal/text"
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

// Type is the type of a declared field that attributes can have.
type Type uint8

// The types. A field without a value is zero or empty.
const (
	String   Type = iota // __data_loc char[]
	Bool                 // u8: 0 or 1
	Int32                // s32
	Int64                // s64
	Uint8                // u8
	Uint16               // u16
	Uint32               // u32
	Uint64               // u64
	Float64              // __data_loc char[], its text, since the kernel has no such numbers
	Duration             // s64: nanoseconds
	Time                 // u64: nanoseconds since 1970
	types
)

var ranges = [types]struct {
	min int64
	max uint64
}{
	Bool:     {0, 1},
	Int32:    {math.MinInt32, math.MaxInt32},
	Int64:    {math.MinInt64, math.MaxInt64},
	Uint8:    {0, math.MaxUint8},
	Uint16:   {0, math.MaxUint16},
	Uint32:   {0, math.MaxUint32},
	Uint64:   {0, math.MaxUint64},
	Duration: {math.MinInt64, math.MaxInt64},
	Time:     {0, math.MaxUint64},
}

// Field is a declared field that attributes can have.
type Field struct {
	Key      string // of the attribute
	Alias    string // the key without the unit that it ends in, or else the key
	Name     string
	Type     Type
	Scale    float64 // of a floating-point number that is written as an integer, or 0
	Min, Max int64   // range of an integer
	Text     bool    // its value is behind the fixed part

	at   int // offset in a payload
	size int // of a number in bytes
}

// newField returns a field of a struct at an offset. It is not ok if no attribute can have the field: an array, or an id in hex
// digits.
func newField(sf typedfield.StructField, at int) (f Field, ok bool) {
	typ, ok := typeOf(sf)
	if !ok {
		return f, false
	}
	f = Field{Key: sf.Key, Alias: sf.Key, Name: sf.Name, Type: typ, Scale: float64(sf.Scale), at: at, size: sf.Type.Kind.Size()}
	f.Text = typ == String || typ == Float64
	f.Min, f.Max = ranges[typ].min, int64(min(ranges[typ].max, math.MaxInt64))
	if sf.Kind == typedfield.GoInt && sf.Bits < 32 { // the event has a larger field
		f.Min, f.Max = -1<<(sf.Bits-1), 1<<(sf.Bits-1)-1
	}
	unit := map[Type]string{Duration: "_ns", Time: "_unix_nano"}[typ]
	if rest := strings.TrimSuffix(sf.Key, unit); rest != "" {
		f.Alias = rest
	}
	return f, true
}

func typeOf(f typedfield.StructField) (t Type, ok bool) {
	switch f.Kind {
	case typedfield.GoBool:
		return Bool, true
	case typedfield.GoInt:
		if f.Bits <= 32 {
			return Int32, true
		}
		return Int64, true
	case typedfield.GoUint:
		switch f.Bits {
		case 8:
			return Uint8, true
		case 16:
			return Uint16, true
		case 32:
			return Uint32, true
		}
		return Uint64, true
	case typedfield.GoFloat:
		if f.Scale != 0 {
			return Int64, true
		}
		return Float64, true
	case typedfield.GoString:
		return String, true
	case typedfield.GoDuration:
		return Duration, true
	case typedfield.GoTime:
		return Time, true
	case typedfield.GoOther:
		return String, f.Type.Kind == tracepoint.Char // an address: its text
	default:
		return 0, false
	}
}

// Keys returns the keys that an attribute for the field may have, the usual one first.
func (f *Field) Keys() []string {
	if f.Alias == f.Key {
		return []string{f.Key}
	}
	return []string{f.Alias, f.Key}
}

// Convert returns what the field holds of a value, as [Type.Convert] does. A number with a scale is a floating-point number.
func (f *Field) Convert(v slog.Value) (num uint64, text string, ok bool) {
	if f.Scale != 0 && v.Kind() != slog.KindFloat64 {
		return 0, "", false
	}
	if f.Scale != 0 {
		scaled := v.Float64() * f.Scale
		return uint64(typedfield.Scale(v.Float64(), f.Scale)), "", scaled >= math.MinInt64 && scaled < math.MaxInt64
	}
	num, text, ok = f.Type.Convert(v)
	return num, text, ok && (f.Type != Int32 || int64(num) >= f.Min && int64(num) <= f.Max)
}

// Put writes a value that Convert returned.
func (f *Field) Put(b *payload.Builder, num uint64, s string) {
	switch {
	case f.Type == String:
		b.Text(f.at, s)
	case f.Type == Float64:
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
