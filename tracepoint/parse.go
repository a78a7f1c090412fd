package tracepoint

import (
	"fmt"
	"strconv"
	"strings"
)

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
			return d, &Error{Declaration: s, Field: len(d.Fields), FieldName: f.Name, Problem: problem}
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
		t.StructSize = int(size)
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
