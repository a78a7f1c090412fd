package tracepoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Format is what tracefs tells about an event in the file
// events/SYSTEM/NAME/format: how its records are identified and laid out.
type Format struct {
	// Name is the tracepoint's name. Events of [MultiSystem] have ".HEX" after the
	// registered name.
	Name string
	// ID identifies the event's records: it is their common_type, and the
	// config of a perf event of type tracepoint.
	ID int
	// Common are the fields that the kernel puts before every payload.
	Common []FormatField
	// Fields are the fields of the event.
	Fields []FormatField
}

// FormatField is a field of a [Format].
type FormatField struct {
	Name string
	// Type says how to read the field. It is the declared type for each type that a
	// [Declaration] can hold. Other C types, which the kernel's own events
	// have, are the integer of the same size and sign, an array of such
	// integers, or else a Struct with the name of the C type.
	Type Type
	// Offset and Size are in bytes, Offset from the start of the common fields.
	// A dynamic field has size 4: its location word. An argument of a system call has the size of a register, in which a Type that is
	// smaller takes the low bytes.
	Offset, Size int
	// Pointer is set if the field is an address: a C pointer. Type is an unsigned integer then.
	Pointer bool
}

// ParseFormat parses the content of a format file (f_show in the kernel's
// kernel/trace/trace_events.c). It reads the formats of all events, not only
// those of user events. The print format is not looked at. The error wraps [ErrInvalid].
func ParseFormat(text string) (Format, error) {
	var f Format
	var named, numbered, inFields bool
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\n")
		fail := func(problem string) (Format, error) {
			return Format{}, fmt.Errorf("%w: format file, line %d (%q): %s", ErrInvalid, n, line, problem)
		}
		body := strings.TrimLeft(line, " \t")
		switch {
		case strings.HasPrefix(body, "print fmt:"):
			return f.checked(named, numbered)
		case strings.HasPrefix(body, "field:"):
			field, problem := parseFormatField(body)
			if problem != "" {
				return fail(problem)
			}
			if inFields {
				f.Fields = append(f.Fields, field)
			} else {
				f.Common = append(f.Common, field)
			}
		case strings.HasPrefix(body, "name:"):
			f.Name, named = strings.TrimSpace(body[len("name:"):]), true
		case strings.HasPrefix(body, "ID:"):
			id, err := strconv.ParseUint(strings.TrimSpace(body[len("ID:"):]), 10, 31)
			if err != nil {
				return fail("the ID is not a number")
			}
			f.ID, numbered = int(id), true
		case body == "" && len(f.Common) > 0:
			inFields = true // an empty line ends the common fields
		case body == "" || body == "format:":
		default:
			return fail("unknown line")
		}
	}
	return f.checked(named, numbered)
}

func (f Format) checked(named, numbered bool) (Format, error) {
	if !named || !numbered || f.Name == "" {
		return Format{}, fmt.Errorf("%w: format file without a name or an ID: it is empty or cut", ErrInvalid)
	}
	return f, nil
}

// Format returns the format of the records of a user event with this declaration, as perf delivers them: after the common fields.
func (d Declaration) Format() Format {
	f := Format{Name: d.Name, Common: []FormatField{
		{Name: "common_type", Type: Scalar(UShort), Size: 2},
		{Name: "common_flags", Type: Scalar(UChar), Offset: 2, Size: 1},
		{Name: "common_preempt_count", Type: Scalar(UChar), Offset: 3, Size: 1},
		{Name: "common_pid", Type: Scalar(Int), Offset: 4, Size: 4},
	}}
	at := CommonSize
	for _, field := range d.Fields {
		size := field.Type.FixedSize()
		f.Fields = append(f.Fields, FormatField{Name: field.Name, Type: field.Type, Offset: at, Size: size})
		at += size
	}
	return f
}

// String returns the content of the format file of a user event: what the kernel prints for its declaration.
func (f Format) String() string {
	var b, names, args strings.Builder
	fmt.Fprintf(&b, "name: %s\nID: %d\nformat:\n", f.Name, f.ID)
	for _, field := range f.Common {
		field.print(&b)
	}
	b.WriteByte('\n')
	for i, field := range f.Fields {
		field.print(&b)
		if i > 0 {
			names.WriteByte(' ')
		}
		names.WriteString(field.Name + "=" + field.Type.verb())
		switch {
		case field.Type.Location == Fixed || !field.Type.isText():
			args.WriteString(", REC->" + field.Name)
		case field.Type.Location == RelLoc:
			args.WriteString(", __get_rel_str(" + field.Name + ")")
		default:
			args.WriteString(", __get_str(" + field.Name + ")")
		}
	}
	fmt.Fprintf(&b, "\nprint fmt: \"%s\"%s\n", names.String(), args.String())
	return b.String()
}

// print appends the field's line. The kernel puts the brackets of an array behind the name, without a length: user_events never
// sets it.
func (f FormatField) print(b *strings.Builder) {
	typ := f.Type.String()
	spelling := typ + " " + f.Name
	if elem, _, isArray := strings.Cut(typ, "["); isArray && f.Type.Location != DataLoc {
		spelling = elem + " " + f.Name + "[]"
	}
	signed := 1
	if typ[0] == 'u' {
		signed = 0
	}
	fmt.Fprintf(b, "\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;\n", spelling, f.Offset, f.Size, signed)
}

// isText reports whether the kernel's print format takes the type for a text.
func (t Type) isText() bool { return strings.Contains(t.String(), "char[") }

// verb returns how the kernel's print format prints the type (user_field_format in kernel/trace/trace_events_user.c).
func (t Type) verb() string {
	switch text := t.String(); {
	case t.isText():
		return "%s"
	case text == "s64":
		return "%lld"
	case slices.Contains([]string{"s32", "int", "s16", "short", "s8", "char"}, text):
		return "%d"
	case slices.Contains([]string{"u32", "unsigned int", "u16", "unsigned short", "u8", "unsigned char"}, text):
		return "%u"
	}
	return "%llu"
}

// Declaration returns the declaration that a user event with this format was registered with.
// The error wraps [ErrInvalid] when a field is not one that [Declaration.Validate] accepts, or does not
// directly follow the one before it: then the event is none of user_events.
func (f Format) Declaration() (Declaration, error) {
	d := Declaration{Name: f.Name}
	if i := strings.LastIndexByte(f.Name, '.'); i >= 0 && isHex(f.Name[i+1:]) {
		d.Name = f.Name[:i]
	}
	next := CommonSize
	for i, field := range f.Fields {
		d.Fields = append(d.Fields, Field{Name: field.Name, Type: field.Type})
		if field.Offset != next {
			return Declaration{}, &Error{
				Declaration: d.String(), Field: i, fieldName: field.Name,
				Problem: fmt.Sprintf("offset %d in the format file, not %d: not a user event", field.Offset, next),
			}
		}
		if size := field.Type.FixedSize(); field.Size != size {
			return Declaration{}, &Error{
				Declaration: d.String(), Field: i, fieldName: field.Name,
				Problem: fmt.Sprintf("size %d in the format file, not %d: not a user event", field.Size, size),
			}
		}
		next += field.Size
	}
	if err := d.Validate(); err != nil {
		return Declaration{}, err
	}
	return d, nil
}

func isHex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789abcdef") == ""
}

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
	f.Pointer = brackets == "" && strings.Contains(ctype, "*") && integerOf(f.Size, false) != kindInvalid
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
			if kind == kindInvalid {
				kind = U8
			}
			return Type{Kind: kind, Location: loc}
		}
	}
	if name, ok := strings.CutPrefix(ctype, "struct "); ok {
		return StructOf(name, size)
	}
	kind := integerType(ctype, size)
	if kind == kindInvalid {
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

// integerType returns the kind of a C type, or kindInvalid. Those of the arguments of system calls are in their format files as
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

func integerOf(size int, signed bool) Kind {
	for k := U8; k <= S64; k++ {
		if k.Size() == size && k.Signed() == signed {
			return k
		}
	}
	return kindInvalid
}
