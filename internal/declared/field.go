package declared

import (
	"math"
	"strings"

	"github.com/userevents/userevents-go/internal/payload"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

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

// typeOf returns the type of a struct's field.
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
func (f *Field) Convert(v Value) (num uint64, text string, ok bool) {
	if f.Scale != 0 {
		number := math.Float64frombits(v.num)
		scaled := number * f.Scale
		return uint64(typedfield.Scale(number, f.Scale)), "", v.kind == float && scaled >= math.MinInt64 && scaled < math.MaxInt64
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
