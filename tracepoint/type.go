package tracepoint

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is the kernel's name for what one element of a field is.
type Kind uint8

// The kinds that the kernel accepts. It has no floating-point kind, and refuses
// long because its size differs between 32-bit and 64-bit programs.
const (
	kindInvalid Kind = iota
	U8
	S8
	U16
	S16
	U32
	S32
	U64
	S64
	Char   // char; signed, and text in an array
	UChar  // unsigned char
	Short  // short
	UShort // unsigned short
	Int    // int
	UInt   // unsigned int
	Struct // struct NAME, of a size given with the field; opaque to every tool
)

var kinds = [...]struct {
	name   string
	size   int
	signed bool
}{
	kindInvalid: {"invalid", 0, false},
	U8:          {"u8", 1, false},
	S8:          {"s8", 1, true},
	U16:         {"u16", 2, false},
	S16:         {"s16", 2, true},
	U32:         {"u32", 4, false},
	S32:         {"s32", 4, true},
	U64:         {"u64", 8, false},
	S64:         {"s64", 8, true},
	Char:        {"char", 1, true},
	UChar:       {"unsigned char", 1, false},
	Short:       {"short", 2, true},
	UShort:      {"unsigned short", 2, false},
	Int:         {"int", 4, true},
	UInt:        {"unsigned int", 4, false},
	Struct:      {"struct", 0, false},
}

// String returns the kernel's spelling of the kind.
func (k Kind) String() string {
	if int(k) >= len(kinds) {
		return "invalid"
	}
	return kinds[k].name
}

// Size returns the size of one element in bytes: 1, 2, 4 or 8, and 0 for
// [Struct], whose size belongs to the field.
func (k Kind) Size() int {
	if int(k) >= len(kinds) {
		return 0
	}
	return kinds[k].size
}

// Signed reports whether the kernel treats the kind as a signed integer.
func (k Kind) Signed() bool { return int(k) < len(kinds) && kinds[k].signed }

func kindOf(name string) Kind {
	for k := U8; k < Struct; k++ {
		if kinds[k].name == name {
			return k
		}
	}
	return kindInvalid
}

// Location says where the bytes of a field are.
type Location uint8

const (
	// Fixed fields stand at their offset in the payload.
	Fixed Location = iota
	// RelLoc fields (__rel_loc) are a 32-bit word, size<<16 | offset, in bytes, whose offset
	// counts from the end of the word. Perfetto takes a text of that kind for a number: prefer DataLoc.
	RelLoc
	// DataLoc fields (__data_loc) are the same word with an offset that counts from the
	// start of the recorded entry, 8 bytes before the payload. Every tracing tool reads a DataLoc array of [Char] as text.
	DataLoc
)

var locationPrefix = [...]string{Fixed: "", RelLoc: "__rel_loc ", DataLoc: "__data_loc "}

// Type is the type of a field.
type Type struct {
	Kind     Kind
	Location Location

	// Len is the number of elements of a Fixed array, from 1 to 1024; 0
	// means a single value. The kernel allows Fixed arrays of Char and UChar
	// only. RelLoc and DataLoc types are arrays without a declared length: Len is 0.
	Len int

	// structName and structSize (in bytes) belong to Kind Struct.
	structName string
	structSize int
}

// Scalar returns the type of a single value.
func Scalar(k Kind) Type { return Type{Kind: k} }

// Array returns the type of a fixed array of n elements.
func Array(k Kind, n int) Type { return Type{Kind: k, Len: n} }

// Dynamic returns the __data_loc array type: text for [Char], numbers otherwise.
func Dynamic(k Kind) Type { return Type{Kind: k, Location: DataLoc} }

// StructOf returns the type of an opaque structure of size bytes.
func StructOf(name string, size int) Type {
	return Type{Kind: Struct, structName: name, structSize: size}
}

// String returns the kernel's spelling, such as "u32", "char[16]" or
// "__rel_loc char[]". The size of a struct is not part of it: it follows the
// field's name.
func (t Type) String() string {
	switch {
	case t.Location != Fixed && int(t.Location) < len(locationPrefix):
		return locationPrefix[t.Location] + t.Kind.String() + "[]"
	case t.Kind == Struct:
		return "struct " + t.structName
	case t.Len > 0:
		return t.Kind.String() + "[" + strconv.Itoa(t.Len) + "]"
	default:
		return t.Kind.String()
	}
}

// FixedSize returns the number of bytes that the field takes in the fixed part
// of a payload: 4, the location word, for RelLoc and DataLoc.
func (t Type) FixedSize() int {
	switch {
	case t.Location != Fixed:
		return 4
	case t.Kind == Struct:
		return t.structSize
	case t.Len > 0:
		return t.Kind.Size() * t.Len
	default:
		return t.Kind.Size()
	}
}

// IsInteger reports whether a field of the type is one integer.
func (t Type) IsInteger() bool { return t.Kind != Struct && t.Location == Fixed && t.Len == 0 }

// IsText reports whether a field of the type is a text: an array of [Char] or [UChar].
func (t Type) IsText() bool { return (t.Kind == Char || t.Kind == UChar) && !t.IsInteger() }

// check returns what is wrong with the type, or "".
func (t Type) check() string {
	switch {
	case t.Kind == kindInvalid || t.Kind > Struct:
		return "unknown type"
	case t.Location > DataLoc:
		return "unknown location"
	case t.Location != Fixed && (t.Kind == Struct || t.Len != 0):
		return "a dynamic field is an array of an integer kind without a length"
	case t.Kind == Struct && !isIdentifier(t.structName):
		return fmt.Sprintf("struct name %q is not an identifier", t.structName)
	case t.Kind == Struct && (t.structSize < 1 || t.structSize > maxStruct):
		return fmt.Sprintf("struct size %d is not between 1 and %d", t.structSize, maxStruct)
	case t.Kind == Struct:
		return ""
	case t.Len < 0 || t.Len > maxArray:
		return fmt.Sprintf("array length %d is not between 1 and %d", t.Len, maxArray)
	case t.Len > 0 && t.Kind != Char && t.Kind != UChar:
		return fmt.Sprintf("the kernel has fixed arrays of char and unsigned char only, not of %s", t.Kind)
	}
	return ""
}

// parseType parses a type as [Type.String] prints it.
func parseType(s string) (Type, string) {
	var t Type
	for loc := RelLoc; loc <= DataLoc; loc++ {
		if rest, ok := strings.CutPrefix(s, locationPrefix[loc]); ok {
			elem, ok := strings.CutSuffix(rest, "[]")
			if !ok {
				return t, "a dynamic type must end in []"
			}
			t = Type{Kind: kindOf(elem), Location: loc}
			return t, t.problem(s)
		}
	}
	if name, ok := strings.CutPrefix(s, "struct "); ok {
		return Type{Kind: Struct, structName: name}, ""
	}
	base, length, isArray := strings.Cut(s, "[")
	t.Kind = kindOf(base)
	if isArray {
		digits, ok := strings.CutSuffix(length, "]")
		n, err := parseLength(digits)
		if !ok || err != nil || n == 0 {
			return t, fmt.Sprintf("bad array length in %q", s)
		}
		t.Len = int(n)
	}
	return t, t.problem(s)
}

// parseLength reads a number as the kernel does: decimal, 0x14 or 024.
func parseLength(s string) (uint64, error) {
	base := 10
	switch digits := strings.ToLower(s); {
	case strings.HasPrefix(digits, "0x"):
		s, base = s[2:], 16
	case strings.HasPrefix(s, "0"):
		base = 8
	}
	return strconv.ParseUint(s, base, 16)
}

func (t Type) problem(spelling string) string {
	if t.Kind == kindInvalid {
		if strings.Contains(spelling, "long") {
			return fmt.Sprintf("type %q is refused by the kernel: use s64 or u64", spelling)
		}
		return fmt.Sprintf("unknown type %q: there are u8 to u64, s8 to s64, char, short, int, their unsigned forms, and struct", spelling)
	}
	return t.check()
}
