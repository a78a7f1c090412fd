package ueventstest

import (
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/internal/errno"
)

const (
	// commonFields is the size in bytes of what stands before the payload in every recorded
	// entry: type, flags, preemption count and process.
	commonFields = 8
	// maxArray is the largest number of elements of a fixed array.
	maxArray = 1024
	// maxArrayText is the longest text from behind an array's opening bracket to the end of
	// its type.
	maxArrayText = 7
)

// field is one field of an event. Type and name are kept as they were written: comparisons
// and listings work on the text.
type field struct {
	typ  string
	name string
	// offset counts from the start of the recorded entry. It is as wide as in the kernel,
	// where absurd struct sizes make it wrap.
	offset uint32
	size   uint32
}

// String returns the field as dynamic_events prints it.
func (f field) String() string {
	s := f.typ + " " + f.name
	if strings.HasPrefix(f.typ, "struct ") {
		s += " " + strconv.Itoa(int(f.size))
	}
	return s
}

func (f field) signed() bool { return f.typ[0] != 'u' }

func (f field) dynamic() bool { return f.relative() || strings.HasPrefix(f.typ, "__data_loc ") }

// relative reports whether the field's location counts from the location itself.
func (f field) relative() bool { return strings.HasPrefix(f.typ, "__rel_loc ") }

// text reports whether the kernel checks that a dynamic field ends in NUL.
func (f field) text() bool { return strings.Contains(f.typ, "char") }

// parseFields parses the part of a command behind the name.
func parseFields(args string) ([]field, error) {
	var fields []field
	offset := uint32(commonFields)
	for part := range strings.SplitSeq(args, ";") {
		if part = skipSpaces(part); part == "" {
			continue
		}
		f, ok := parseField(part)
		if !ok {
			return nil, errno.EINVAL
		}
		f.offset = offset
		offset += f.size
		fields = append(fields, f)
	}
	return fields, nil
}

// typePrefixes are the beginnings of types that contain a space. Longer ones stand before
// their own beginnings.
var typePrefixes = [...]string{
	"unsigned ",
	"struct ",
	"__data_loc unsigned ",
	"__data_loc ",
	"__rel_loc unsigned ",
	"__rel_loc ",
}

// parseField parses "type name [size]". Exactly one space separates the parts; a tab or a
// second space becomes part of what it stands in.
func parseField(s string) (f field, ok bool) {
	n := 0
	for _, p := range typePrefixes {
		if strings.HasPrefix(s, p) {
			n = len(p)
			break
		}
	}
	end := strings.IndexByte(s[n:], ' ')
	if end < 0 {
		return field{}, false
	}
	f.typ = s[:n+end]
	name, size, sized := strings.Cut(s[n+end+1:], " ")
	f.name = name
	if !sized {
		f.size = typeSize(f.typ)
		return f, f.size > 0
	}
	if !strings.HasPrefix(s, "struct ") {
		return field{}, false
	}
	f.size, ok = parseUint(size, 10)
	// The kernel takes 2 GiB and more for a negative number and hands it back as if it were
	// an errno. What a program then sees is not worth simulating.
	return f, ok && int32(f.size) > 0
}

// scalarSizes has the types that need no parsing, with their sizes in bytes. The kernel
// refuses long, whose size depends on the program.
var scalarSizes = map[string]uint32{
	"s64": 8, "u64": 8,
	"s32": 4, "u32": 4, "int": 4, "unsigned int": 4,
	"s16": 2, "u16": 2, "short": 2, "unsigned short": 2,
	"s8": 1, "u8": 1, "char": 1, "unsigned char": 1,
}

// typeSize returns the size in bytes of a field without a size of its own, or 0 when the
// type is not valid. What follows __data_loc and __rel_loc is not looked at.
func typeSize(typ string) uint32 {
	if n, ok := scalarSizes[typ]; ok {
		return n
	}
	if (field{typ: typ}).dynamic() {
		return 4
	}
	elem, length, isArray := strings.Cut(typ, "[")
	if !isArray || elem != "char" && elem != "unsigned char" || len(length) > maxArrayText {
		return 0
	}
	digits, _, closed := strings.Cut(length, "]")
	n, ok := parseUint(digits, 0)
	if !closed || !ok || n > maxArray {
		return 0
	}
	return n
}

// minSize returns the least payload in bytes that a write must bring.
func minSize(fields []field) uint64 {
	if len(fields) == 0 {
		return 0
	}
	last := fields[len(fields)-1]
	// The kernel keeps the number in an int and compares it as an unsigned long, so that
	// one which wrapped below zero can't be reached.
	return uint64(int64(int32(last.offset + last.size - commonFields)))
}

// fieldsMatch reports whether the words of a registration name these fields. The kernel
// compares text: char[0x14] and char[20] differ, and so does an empty field.
func fieldsMatch(fields []field, argv []string) bool {
	for _, f := range fields {
		if len(argv) == 0 {
			return false
		}
		n := 0
		for n < len(argv)-1 && !strings.Contains(argv[n], ";") {
			n++
		}
		got := strings.Join(argv[:n+1], " ")
		want := f.String()
		if strings.Contains(argv[n], ";") {
			want += ";"
		}
		if got != want {
			return false
		}
		argv = argv[n+1:]
	}
	return len(argv) == 0
}

// fieldList prints fields in the way of dynamic_events.
func fieldList(fields []field) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.String())
	}
	return b.String()
}
