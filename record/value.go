package record

import (
	"encoding/base64"
	"math"
	"strconv"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/text"
)

// ValueType is the type of a [Value].
type ValueType uint8

// The types of values.
const (
	TypeNull    ValueType = iota // no value: the zero Value
	TypeString                   // a text, without escapes
	TypeInt64                    // an integer of any size, unless it is TypeUint64
	TypeUint64                   // an integer above math.MaxInt64
	TypeFloat64                  // a floating-point number
	TypeBool                     // true or false
	TypeBytes                    // bytes without a known meaning
	TypeList                     // values without names
	TypeMap                      // values with names, in order
)

var typeNames = [...]string{"null", "string", "int64", "uint64", "float64", "bool", "bytes", "list", "map"}

// String returns the name of the type, such as "int64".
func (t ValueType) String() string { return name(typeNames[:], t) }

// Value is the value of a [Field]. Creating and reading a Value does not allocate.
type Value struct {
	typ  ValueType
	num  uint64 // integers, the bits of a float, 0 or 1
	str  string // texts and bytes
	list []Field
}

// Field is a name and a value. An element of a list has no name.
type Field struct {
	Name  string
	Value Value
}

// Type returns the type of the value.
func (v Value) Type() ValueType { return v.typ }

// Text returns a text as the program passed it. It may hold any bytes: print it with [Value.AppendText]. It is empty
// for other types.
func (v Value) Text() string {
	if v.typ != TypeString {
		return ""
	}
	return v.str
}

// Bytes returns bytes, which the caller must not change. It is nil for other types.
func (v Value) Bytes() []byte {
	if v.typ != TypeBytes {
		return nil
	}
	return bytesOf(v.str)
}

// Int64 returns an integer. A TypeUint64 value wraps to a negative number. It is 0 for other types.
func (v Value) Int64() int64 { return int64(v.Uint64()) }

// Uint64 returns an integer. A negative value wraps to a number above [math.MaxInt64]. It is 0 for other types.
func (v Value) Uint64() uint64 {
	if v.typ != TypeInt64 && v.typ != TypeUint64 {
		return 0
	}
	return v.num
}

// Float64 returns a number. An integer becomes the nearest float64. It is 0 for other types.
func (v Value) Float64() float64 {
	switch v.typ {
	case TypeFloat64:
		return floatOf(v.num)
	case TypeInt64:
		return float64(int64(v.num))
	case TypeUint64:
		return float64(v.num)
	default:
		return 0
	}
}

// Bool returns the value of a boolean. It is false for other types.
func (v Value) Bool() bool { return v.typ == TypeBool && v.num != 0 }

// Fields returns the elements of a list or a map, in order. The caller must not change them. It is nil for other types.
func (v Value) Fields() []Field { return v.list }

// Lookup returns the value of a map's member, as [Record.Lookup] does, and whether the map has it.
func (v Value) Lookup(name string) (Value, bool) {
	if v.typ != TypeMap {
		return Value{}, false
	}
	return find(v.list, name)
}

// lookup returns the value of the last field with the name.
func lookup(fields []Field, name string) (Value, bool) {
	for i := len(fields) - 1; i >= 0; i-- { //nolint:modernize // Backward copies each Field, which is large
		if fields[i].Name == name {
			return fields[i].Value, true
		}
	}
	return Value{}, false
}

// String returns the value as [Value.AppendText] formats it.
func (v Value) String() string { return string(v.AppendText(nil)) }

// AppendText appends the value as one line of printable characters: a text without quotes, with the escapes of package
// text; other types as AppendJSON formats them.
func (v Value) AppendText(dst []byte) []byte {
	if v.typ == TypeString {
		dst, _ = text.Append(dst, v.str, math.MaxInt)
		return dst
	}
	return v.AppendJSON(dst)
}

// AppendJSON appends the value as JSON that is safe to print, in the form of attributes that this module writes: bytes are base64, NaN
// and the infinities are texts.
func (v Value) AppendJSON(dst []byte) []byte { return v.appendJSON(dst) }

// appendJSON is AppendJSON without a copy of the value, which is large.
func (v *Value) appendJSON(dst []byte) []byte {
	switch v.typ {
	case TypeString:
		return attrjson.AppendString(dst, v.str)
	case TypeInt64:
		return attrjson.AppendInt(dst, int64(v.num))
	case TypeUint64:
		return attrjson.AppendUint(dst, v.num)
	case TypeFloat64:
		return attrjson.AppendFloat(dst, v.Float64())
	case TypeBool:
		return strconv.AppendBool(dst, v.num != 0)
	case TypeBytes:
		return appendBase64(dst, v.Bytes())
	case TypeList:
		return appendList(dst, v.list)
	case TypeMap:
		return AppendJSON(dst, v.list)
	default:
		return append(dst, "null"...)
	}
}

func appendList(dst []byte, list []Field) []byte {
	dst = append(dst, '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = list[i].Value.appendJSON(dst)
	}
	return append(dst, ']')
}

// AppendJSON appends fields as a JSON object that is safe to print; see [Value.AppendJSON].
func AppendJSON(dst []byte, fields []Field) []byte {
	dst = append(dst, '{')
	for i := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		f := &fields[i]
		dst = append(attrjson.AppendString(dst, f.Name), ':')
		dst = f.Value.appendJSON(dst)
	}
	return append(dst, '}')
}

// StringValue returns a Value that is a text.
func StringValue(s string) Value { return Value{typ: TypeString, str: s} }

// Int64Value returns a Value that is an integer.
func Int64Value(v int64) Value { return Value{typ: TypeInt64, num: uint64(v)} }

// Uint64Value returns a Value that is an integer, of [TypeInt64] unless v is above [math.MaxInt64].
func Uint64Value(v uint64) Value {
	if v <= math.MaxInt64 {
		return Value{typ: TypeInt64, num: v}
	}
	return Value{typ: TypeUint64, num: v}
}

// Float64Value returns a Value that is a floating-point number.
func Float64Value(v float64) Value { return Value{typ: TypeFloat64, num: math.Float64bits(v)} }

// BoolValue returns a Value that is a boolean.
func BoolValue(v bool) Value {
	if v {
		return Value{typ: TypeBool, num: 1}
	}
	return Value{typ: TypeBool}
}

// BytesValue returns a Value that is bytes. It refers to b, which must not change.
func BytesValue(b []byte) Value { return Value{typ: TypeBytes, str: stringOf(b)} }

// ListValue returns a list of the values of fields. It refers to the slice, which must not change.
func ListValue(elements []Field) Value { return Value{typ: TypeList, list: elements} }

// MapValue returns a map. It refers to the slice, which must not change.
func MapValue(fields []Field) Value { return Value{typ: TypeMap, list: fields} }

func floatOf(bits uint64) float64 { return math.Float64frombits(bits) }

func appendBase64(dst, b []byte) []byte {
	return append(base64.StdEncoding.AppendEncode(append(dst, '"'), b), '"')
}

// number returns the JSON number at the start of s, and its length, or 0 if there is none. Integers of up to 64 bits
// are exact; other numbers are floats.
func number(s string) (v Value, n int) {
	negative := n < len(s) && s[n] == '-'
	if negative {
		n++
	}
	first := n
	var digits uint64 // their number, with those of the fraction
	for ; n < len(s) && isDigit(s[n]); n++ {
		digits = digits*10 + uint64(s[n]-'0')
	}
	if n == first || s[first] == '0' && n > first+1 {
		return Value{}, 0
	}
	if n == len(s) || s[n] != '.' && s[n] != 'e' && s[n] != 'E' {
		fits := n-first < maxDigits || n-first == maxDigits && s[first:n] <= maxUint64
		switch {
		case fits && !negative:
			return Uint64Value(digits), n
		case fits && digits != 0 && digits <= 1<<63: // -0 is a float
			return Int64Value(int64(-digits)), n
		}
		return float(s[:n])
	}
	point := n
	if s[n] == '.' {
		for n++; n < len(s) && isDigit(s[n]); n++ {
			digits = digits*10 + uint64(s[n]-'0')
		}
		if n == point+1 {
			return Value{}, 0
		}
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		n++
		if n < len(s) && (s[n] == '+' || s[n] == '-') {
			n++
		}
		begin := n
		for n < len(s) && isDigit(s[n]) {
			n++
		}
		if n == begin {
			return Value{}, 0
		}
		return float(s[:n])
	}
	if n-first > exactDigits+1 {
		return float(s[:n])
	}
	// A float has both numbers exactly, so that their quotient is the nearest one.
	f := float64(digits) / powersOfTen[n-point-1]
	if negative {
		f = -f
	}
	return Float64Value(f), n
}

const (
	maxDigits   = 20 // of 64 bits
	maxUint64   = "18446744073709551615"
	exactDigits = 15 // of integers that a float has exactly, whatever the digits
)

var powersOfTen = [exactDigits + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

func float(s string) (v Value, n int) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 0) {
		return Value{}, 0
	}
	return Float64Value(f), len(s) // a number out of range is infinite
}

func isDigit(c byte) bool { return c-'0' < 10 }

// numberText returns the number in a text field, including NaN and the infinities. It returns null for other texts.
func numberText(s string) Value {
	switch s {
	case "NaN":
		return Float64Value(math.NaN())
	case "Infinity":
		return Float64Value(math.Inf(1))
	case "-Infinity":
		return Float64Value(math.Inf(-1))
	}
	v, n := number(s)
	if n < len(s) {
		return Value{}
	}
	return v
}
