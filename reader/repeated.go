package reader

import (
	"slices"
	"strconv"

	"github.com/userevents/userevents-go/tracepoint"
)

// numberNames gives each name that repeats an earlier one a name of its own: a, a_2, a_3. Programs may repeat the names of
// fields, which are keys in JSON and in OTLP: only one field of a name could be read there.
func numberNames(names []string) {
	last := make(map[string]int, len(names)) // by name, the number of the last field that has it
	for _, name := range names {
		last[name] = 1
	}
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		if seen[name] {
			names[i] = nextName(name, last)
		}
		seen[name] = true
	}
}

// nextName returns the name with the next number that no field has.
func nextName(name string, last map[string]int) string {
	for {
		last[name]++
		next := name + "_" + strconv.Itoa(last[name])
		if last[next] == 0 {
			last[next] = 1
			return next
		}
	}
}

// numberFormat numbers the names of a tracepoint's fields.
func numberFormat(f tracepoint.Format) tracepoint.Format {
	names := make([]string, len(f.Fields))
	for i := range f.Fields {
		names[i] = f.Fields[i].Name
	}
	numberNames(names)
	f.Fields = slices.Clone(f.Fields) // the caller's stay
	for i, name := range names {
		f.Fields[i].Name = name
	}
	return f
}

// numberRepeated numbers the names of fields, and those within maps.
func (s *scratch) numberRepeated(fields []Field) {
	if s.repeats(fields) {
		names := make([]string, len(fields))
		for i := range fields {
			names[i] = fields[i].Name
		}
		numberNames(names)
		for i, name := range names {
			fields[i].Name = name
		}
	}
	s.numberNested(fields)
}

func (s *scratch) numberNested(values []Field) {
	for i := range values {
		switch v := &values[i].Value; v.typ {
		case TypeMap:
			s.numberRepeated(v.list)
		case TypeList:
			s.numberNested(v.list)
		}
	}
}

// repeats reports whether two fields have one name.
func (s *scratch) repeats(fields []Field) bool {
	if len(fields) > fewFields {
		defer s.forget(len(fields))
		return s.index(fields) < len(fields)
	}
	for i := range fields {
		if hasName(fields[i+1:], fields[i].Name) {
			return true
		}
	}
	return false
}
