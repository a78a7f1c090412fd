package truncationtest

import (
	"errors"
	"strings"
)

// Case is a record that is too large, or nearly so.
type Case struct {
	Name    string
	Message string // of a log record; the name of a span
	Bound   []Attr // of the logger: a prefix, a scope
	Attrs   []Attr // of the record
}

// Attr is an attribute. Its value is a string, an int64, an error, a []string or a Group.
type Attr struct {
	Key   string
	Value any
}

// Group is a value that holds attributes.
type Group []Attr

// Cases returns all cases. Each has Survivors among its attributes, which are never cut.
func Cases() []Case {
	text, second := Attr{"text", long(7000)}, Attr{"second", long(5000)}
	other := Attr{"other", "of some length, but not longer than others that have to be cut: about 80 bytes"}
	s := Survivors()
	cases := []Case{
		{Name: "all fits", Attrs: join(s, other)},
		{Name: "first", Attrs: join(text, s, other)},
		{Name: "in the middle", Attrs: join(s[0], text, s[1:], other)},
		{Name: "last", Attrs: join(other, s, text)},
		{Name: "bound", Bound: join(text), Attrs: join(s, other)},
		{Name: "survivors bound", Bound: join(s), Attrs: join(text, other)},
		{Name: "bound, with room for most of it", Message: long(2000), Bound: join(Attr{"text", long(3000)}), Attrs: join(s, other)},
		{Name: "in a group", Attrs: join(Attr{"group", Group{{"n", int64(7)}, text, {"m", int64(8)}}}, s, other)},
		{Name: "survivors in a group", Attrs: join(text, Attr{"group", Group(s)}, s)},
		{Name: "in an array", Attrs: join(Attr{"list", []string{"short", text.Value.(string), "last"}}, s, other)},
		{Name: "message", Message: long(7000), Attrs: join(s, other)},
		{Name: "two", Attrs: join(text, s, second, other)},
		{Name: "two in an array", Attrs: join(Attr{"list", []string{long(7000), "short", long(5000)}}, s, other)},
		{Name: "two, one bound", Bound: join(text), Attrs: join(s, other, second)},
		{Name: "two, one in a group", Attrs: join(Attr{"group", Group{text}}, other, second, s)},
		{Name: "two, one the message", Message: long(7000), Attrs: join(second, s, other)},
		{Name: "two with escapes", Attrs: join(Attr{"text", strings.Repeat("line\n", 1400)}, s, Attr{"second", strings.Repeat("ß\t", 2000)})},
		{Name: "one just above its share", Attrs: join(s, text, Attr{"medium", long(300)})},
		{Name: "300 texts", Attrs: join(s, many(func(int) any { return strings.Repeat("x", 100) }))},
		{Name: "300 texts before", Attrs: join(many(func(int) any { return strings.Repeat("x", 100) }), s)},
		{Name: "300 numbers", Attrs: join(s, many(func(i int) any { return int64(i) }))},
		{Name: "300 numbers and a text", Attrs: join(text, s, many(func(i int) any { return int64(i % 10) }))},
	}
	for i := range cases {
		if cases[i].Message == "" {
			cases[i].Message = "request handled"
		}
	}
	return cases
}

// Survivors are short: a number, an error and an id.
func Survivors() []Attr {
	return []Attr{
		{"n", int64(-1234567890123)},
		{"err", errors.New("connect: connection refused")},
		{"request_id", "4bf92f3577b34da6a3ce929d0e0e4736"},
	}
}

// long returns a text of about n bytes, in which a character may have two.
func long(n int) string { return strings.Repeat("lörem ipsum dolor ", n/19) }

// many returns 300 attributes, with keys of two letters.
func many(value func(i int) any) (list []Attr) {
	for i := range 300 {
		list = append(list, Attr{string([]byte{'a' + byte(i/26), 'a' + byte(i%26)}), value(i)})
	}
	return list
}

func join(parts ...any) (list []Attr) {
	for _, p := range parts {
		switch p := p.(type) {
		case Attr:
			list = append(list, p)
		case []Attr:
			list = append(list, p...)
		}
	}
	return list
}
