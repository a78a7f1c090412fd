package tracepoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parseFormatField parses
//
//	field:TYPE NAME;	offset:N;	size:N;	signed:N;
//
// where the brackets of an array stand after the name, except those of __data_loc.
func parseFormatField(line string) (FormatField, string) {
	var f FormatField
	var signed bool
	parts := strings.Split(line, ";")
	missing := map[string]bool{"offset": true, "size": true, "signed": true}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(strings.TrimSpace(part), ":")
		n, err := strconv.ParseUint(value, 10, 16)
		switch key {
		case "":
			continue
		case "offset":
			f.Offset = int(n)
		case "size":
			f.Size = int(n)
		case "signed":
			signed = n != 0
		default:
			return f, fmt.Sprintf("unknown property %q", key)
		}
		if err != nil {
			return f, fmt.Sprintf("bad %s %q", key, value)
		}
		delete(missing, key)
	}
	if len(missing) != 0 {
		return f, "a field needs a type and name, an offset, a size and a sign"
	}

	spelling := strings.TrimSpace(strings.TrimPrefix(parts[0], "field:"))
	spelling, brackets, _ := cutBrackets(spelling)
	i := strings.LastIndexByte(spelling, ' ')
	if i < 0 {
		return f, "type without a field name"
	}
	f.Name = spelling[i+1:]
	ctype, inner, isArray := cutBrackets(strings.TrimSpace(spelling[:i]))
	if isArray {
		brackets = inner
	}
	f.Pointer = brackets == "" && strings.Contains(ctype, "*") && integerOf(f.Size, false) != KindInvalid
	if f.Pointer {
		f.Type = Scalar(integerOf(f.Size, false))
		return f, ""
	}
	f.Type = formatType(ctype, brackets, f.Size, signed)
	if f.Type.Location != Fixed && f.Size != 4 {
		return f, fmt.Sprintf("a dynamic field of %d bytes, not 4", f.Size)
	}
	return f, ""
}

// cutBrackets splits "char x[16]" into "char x" and "[16]".
func cutBrackets(s string) (before, brackets string, found bool) {
	before, inside, found := strings.Cut(s, "[")
	if !found || !strings.HasSuffix(s, "]") {
		return s, "", false
	}
	return before, "[" + inside, true
}

// formatType finds the type of a field that takes size bytes. The number between the
// brackets is a last resort: the kernel leaves it unset for user events, and prints
// what it finds there.
func formatType(ctype, brackets string, size int, signed bool) Type {
	for loc := RelLoc; loc <= DataLoc; loc++ {
		if elem, ok := strings.CutPrefix(ctype, locationPrefix[loc]); ok {
			kind := kindOf(elem)
			if kind == KindInvalid {
				kind = U8
			}
			return Type{Kind: kind, Location: loc}
		}
	}
	if name, ok := strings.CutPrefix(ctype, "struct "); ok {
		return StructOf(name, size)
	}
	kind := integerType(ctype, size)
	if kind == KindInvalid {
		elem := size
		if count, err := strconv.Atoi(strings.Trim(brackets, "[]")); err == nil && count > 0 {
			elem = size / count
		}
		kind = integerOf(elem, signed)
	}
	switch elem := kind.Size(); {
	case elem == 0 || size == 0 || size%elem != 0:
		return StructOf(ctype, size)
	case brackets != "":
		return Array(kind, size/elem)
	case elem == size, size == 4, size == 8: // an argument of a system call takes a register, whatever its type
		return Scalar(kind)
	default:
		return StructOf(ctype, size)
	}
}

// integerType returns the kind of a C type, or KindInvalid. Those of the arguments of system calls are in their format files as
// they are in C, and all of them without a sign; size is that of the field.
func integerType(ctype string, size int) Kind {
	ctype = strings.TrimPrefix(ctype, "const ")
	if slices.Contains([]string{"long", "off_t", "loff_t", "ssize_t"}, ctype) {
		return integerOf(size, true)
	}
	if kind, ok := kernelTypes[ctype]; ok {
		return kind
	}
	return kindOf(ctype)
}

// kernelTypes are the types of arguments of system calls that are narrower than a register on some machine.
var kernelTypes = map[string]Kind{
	"clockid_t": S32, "key_serial_t": S32, "key_t": S32, "mqd_t": S32, "pid_t": S32, "qid_t": S32, "rwf_t": S32, "timer_t": S32,
	"gid_t": U32, "uid_t": U32, "unsigned": U32, "umode_t": U16,
}

// integerOf returns the integer kind of the size, or KindInvalid.
func integerOf(size int, signed bool) Kind {
	for k := U8; k <= S64; k++ {
		if k.Size() == size && k.Signed() == signed {
			return k
		}
	}
	return KindInvalid
}
