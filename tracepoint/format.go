package tracepoint

import (
	"fmt"
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
	// A dynamic field has size 4: its location word.
	Offset, Size int
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
