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
	// integers, or else a Struct whose StructName is the C type.
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
				Declaration: d.String(), Field: i, FieldName: field.Name,
				Problem: fmt.Sprintf("offset %d in the format file, not %d: not a user event", field.Offset, next),
			}
		}
		if size := field.Type.FixedSize(); field.Size != size {
			return Declaration{}, &Error{
				Declaration: d.String(), Field: i, FieldName: field.Name,
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
