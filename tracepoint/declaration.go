// Package tracepoint describes a Linux user_events tracepoint: its name and the
// fields of its records.
//
// A [Declaration] prints as, and parses from, the command syntax that the kernel
// takes when an event is registered:
//
//	myapp_http_request u16 status; s64 latency_ns; __data_loc char[] route
//
// The kernel checks fields but hardly checks names, and answers every mistake
// with the same EINVAL. [Declaration.Validate] is stricter than the kernel, so
// that every declaration it accepts can be registered, shows up under the name it was given, and is
// understood by perf and trace-cmd; its errors name the field at fault.
//
// [ParseFormat] reads the other description of an event, tracefs' format file,
// which says where each field of a record is.
//
// The syntax is described in the kernel's Documentation/trace/user_events.rst
// and implemented in kernel/trace/trace_events_user.c (user_event_parse_field).
package tracepoint

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// Limits of the kernel (kernel/trace/trace_events_user.c) and of tracefs.
const (
	// MaxCommand is the longest declaration in bytes; the kernel's 512 count the terminating NUL.
	MaxCommand = 511
	// maxName is the longest event name in bytes: it becomes a directory's name.
	maxName = 255
	// maxArray is the largest number of elements of a Fixed array.
	maxArray = 1024
	// MaxPayload is the largest payload in bytes that every tracing tool keeps: what fits a sub-buffer of ftrace's ring
	// buffer with pages of 4 KiB and default settings. The kernel reports success for larger ones.
	MaxPayload = 4064

	// CommonSize is the size in bytes of the common fields (struct trace_entry)
	// that the kernel puts before a payload. Offsets in a format file and in a
	// DataLoc word count from their start.
	CommonSize = 8

	// maxStruct keeps an event with a struct below what any tracing tool records.
	maxStruct = 4096
)

// Names of the systems (directories below tracefs' events) that user events appear in.
const (
	System      = "user_events"
	MultiSystem = "user_events_multi" // events registered with USER_EVENT_REG_MULTI_FORMAT
)

// ErrInvalid is wrapped by every error about a declaration. It is [fs.ErrInvalid] for [errors.Is].
var ErrInvalid error = invalid{}

type invalid struct{}

func (invalid) Error() string        { return "invalid tracepoint declaration" }
func (invalid) Is(target error) bool { return target == fs.ErrInvalid }

// Error says what is wrong with a declaration, and where.
type Error struct {
	Declaration string // as far as it was understood
	Field       int    // index of the field at fault, or -1: the name or the whole
	fieldName   string
	Problem     string
}

// Error implements error.
func (e *Error) Error() string {
	where := "tracepoint declaration " + strconv.Quote(e.Declaration)
	switch {
	case e.Field >= 0 && e.fieldName != "":
		where += fmt.Sprintf(", field %d (%q)", e.Field+1, e.fieldName)
	case e.Field >= 0:
		where += fmt.Sprintf(", field %d", e.Field+1)
	}
	return where + ": " + e.Problem
}

// Unwrap returns [ErrInvalid].
func (e *Error) Unwrap() error { return ErrInvalid }

// Field is one field of a declaration.
type Field struct {
	Name string
	Type Type
}

// text returns the field in command syntax, such as "u16 status" or
// "struct point p 8".
func (f Field) text() string {
	s := f.Type.String() + " " + f.Name
	if f.Type.Kind == Struct {
		s += " " + strconv.Itoa(f.Type.structSize)
	}
	return s
}

// Declaration is the name of an event and its fields. The zero value is
// invalid. It is a plain value: copying it shares Fields.
type Declaration struct {
	Name   string
	Fields []Field
}

// String returns the declaration in command syntax, whether it is valid or not.
// Fields are separated by a semicolon and a space, as the kernel prints them:
// some kernels compare declarations as text.
func (d Declaration) String() string {
	if len(d.Fields) == 0 {
		return d.Name
	}
	return d.Name + " " + d.FieldList()
}

// FieldList returns the fields in command syntax, without the name.
func (d Declaration) FieldList() string {
	var b strings.Builder
	for i, f := range d.Fields {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(f.text())
	}
	return b.String()
}

// FixedSize returns the size in bytes of a payload's fixed part: the least that
// the kernel accepts for this event.
func (d Declaration) FixedSize() int {
	n := 0
	for _, f := range d.Fields {
		n += f.Type.FixedSize()
	}
	return n
}

// Equal reports whether both declarations name the same event with the same fields.
func (d Declaration) Equal(o Declaration) bool { return d.String() == o.String() }

// Validate returns nil or an [*Error].
func (d Declaration) Validate() error {
	fail := func(i int, problem string) error {
		e := &Error{Declaration: d.String(), Field: i, Problem: problem}
		if i >= 0 {
			e.fieldName = d.Fields[i].Name
		}
		return e
	}
	if p := checkName(d.Name); p != "" {
		return fail(-1, "event name "+p)
	}
	if d.Name == "enable" || d.Name == "filter" {
		return fail(-1, "tracefs has a file of this name beside the events")
	}
	seen := make(map[string]int, len(d.Fields))
	for i, f := range d.Fields {
		if p := checkName(f.Name); p != "" {
			return fail(i, "field name "+p)
		}
		if strings.HasPrefix(f.Name, "common_") {
			return fail(i, "field names that begin with common_ belong to the kernel")
		}
		if first, dup := seen[f.Name]; dup {
			return fail(i, fmt.Sprintf("the name is taken by field %d: give one of them another name", first+1))
		}
		seen[f.Name] = i
		if p := f.Type.check(); p != "" {
			return fail(i, p)
		}
	}
	if n := len(d.String()); n > MaxCommand {
		return fail(-1, fmt.Sprintf("%d bytes long, the kernel takes %d: shorten names or drop fields", n, MaxCommand))
	}
	return nil
}

func checkName(s string) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > maxName:
		return fmt.Sprintf("is %d bytes long, the limit is %d", len(s), maxName)
	case !isIdentifier(s):
		return fmt.Sprintf("%q must consist of letters, digits and underscores and not begin with a digit", s)
	}
	return ""
}

func isIdentifier(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case c >= '0' && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return s != ""
}

// Parse parses a declaration in command syntax and validates it. It accepts
// what [Declaration.String] prints, a space or none after a semicolon, empty
// fields such as one after a trailing semicolon, and runs of white space. On
// error, an [*Error], it returns what it understood until then, so that a listing can
// name events that other programs made.
func Parse(s string) (Declaration, error) {
	name, rest, _ := strings.Cut(strings.TrimSpace(s), " ")
	d := Declaration{Name: name}
	if strings.Contains(name, ":") {
		return d, &Error{Declaration: s, Field: -1, Problem: "event flags (name:flag) are not supported by any kernel"}
	}
	for part := range strings.SplitSeq(rest, ";") {
		words := strings.Fields(part)
		if len(words) == 0 {
			continue
		}
		f, problem := parseField(words)
		if problem != "" {
			return d, &Error{Declaration: s, Field: len(d.Fields), fieldName: f.Name, Problem: problem}
		}
		d.Fields = append(d.Fields, f)
	}
	return d, d.Validate()
}

// MustParse is [Parse] for declarations that are part of the program, such as package-level variables. It panics
// with Parse's error if the declaration is not valid.
func MustParse(s string) Declaration {
	d, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return d
}

// parseField parses "type name [size]", split into words.
func parseField(words []string) (Field, string) {
	n := min(typeWords(words), len(words))
	var f Field
	t, problem := parseType(strings.Join(words[:n], " "))
	rest := words[n:]
	if len(rest) > 0 {
		f.Name = rest[0]
	}
	switch {
	case problem != "":
		return f, problem
	case len(rest) == 0:
		return f, "type without a field name"
	case t.Kind == Struct && len(rest) == 1:
		return f, "a struct field needs its size in bytes after the name"
	case t.Kind == Struct && len(rest) == 2:
		size, err := strconv.ParseUint(rest[1], 10, 16)
		if err != nil {
			return f, fmt.Sprintf("bad struct size %q", rest[1])
		}
		t.structSize = int(size)
	case len(rest) > 1:
		return f, fmt.Sprintf("unexpected %q after the field name", strings.Join(rest[1:], " "))
	}
	f.Type = t
	return f, ""
}

// typeWords returns how many words the type at the start of a field has, if it is complete.
func typeWords(words []string) int {
	n := 1
	switch words[0] {
	case "struct":
		return 2
	case "__rel_loc", "__data_loc":
		n, words = 2, words[1:]
	}
	if len(words) > 0 && words[0] == "unsigned" {
		n++
	}
	return n
}
