package output

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/reader"
)

// member is a member of a JSON object that has the parts of a T, such as an event or a data point.
type member[T any] struct {
	name string
	kind string // of its value, as the help names it
	doc  string // for the help; "" for members of objects within an event, and of text only
	part part   // skipped with all of the part

	// append appends the value as JSON, or as text that is safe to print. It appends nothing if from lacks it.
	append func(b []byte, from *T, c *clock, json bool) []byte
	// parse reads what append wrote as JSON; nil if other members tell the same. An error says what the value is not.
	parse func(to *T, v reader.Value) error
}

// Kinds of members, as the help explains them.
const (
	aText   = "text"
	aTime   = "time"
	anID    = "id"
	aNumber = "number"
	isTrue  = "true"
	anArray = "array"
	object  = "object"
)

// The functions below return a member from its place in a T.

func str[T any](name, doc string, at func(*T) *string) member[T] {
	return member[T]{
		name: name, kind: aText, doc: doc,
		append: func(b []byte, from *T, _ *clock, json bool) []byte { return appendString(b, *at(from), json) },
		parse: func(to *T, v reader.Value) error {
			*at(to) = v.Text()
			return nil
		},
	}
}

type integer interface {
	~int | ~int8 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

func number[T any, N integer](name, doc string, at func(*T) *N) member[T] {
	return member[T]{
		name: name, kind: aNumber, doc: doc,
		append: func(b []byte, from *T, _ *clock, _ bool) []byte {
			switch n := *at(from); {
			case n > 0:
				return attrjson.AppendUint(b, uint64(n))
			case n < 0:
				return attrjson.AppendInt(b, int64(n))
			}
			return b
		},
		parse: func(to *T, v reader.Value) error {
			*at(to) = N(v.Uint64())
			return nil
		},
	}
}

// always makes a member of a number that is there if it is 0, too.
func always[T any, N integer](name, doc string, at func(*T) *N) member[T] {
	m := number(name, doc, at)
	m.append = func(b []byte, from *T, _ *clock, _ bool) []byte { return attrjson.AppendInt(b, int64(*at(from))) }
	return m
}

// count is a number that is refused if it is none.
func count[T any](name string, at func(*T) *uint64) member[T] {
	m := number(name, "", at)
	m.parse = func(to *T, v reader.Value) (err error) {
		*at(to), err = parseCount(v)
		return err
	}
	return m
}

// numeric is an integer or a float.
func numeric[T any](name string, at func(*T) *reader.Value) member[T] {
	return member[T]{
		name: name, kind: aNumber,
		append: func(b []byte, from *T, _ *clock, _ bool) []byte {
			if v := *at(from); v.Type() != reader.TypeNull {
				b = v.AppendJSON(b)
			}
			return b
		},
		parse: func(to *T, v reader.Value) (err error) {
			*at(to), err = parseNumber(v)
			return err
		},
	}
}

// float is left out if it is 0, unless zero is set.
func float[T any](name string, zero bool, at func(*T) *float64) member[T] {
	return member[T]{
		name: name, kind: aNumber,
		append: func(b []byte, from *T, _ *clock, _ bool) []byte {
			if f := *at(from); f != 0 || zero {
				b = attrjson.AppendFloat(b, f)
			}
			return b
		},
		parse: func(to *T, v reader.Value) (err error) {
			*at(to), err = parseFloat(v)
			return err
		},
	}
}

func id[T any](name, doc string, at func(*T) []byte) member[T] {
	return member[T]{
		name: name, kind: anID, doc: doc,
		append: func(b []byte, from *T, _ *clock, json bool) []byte {
			switch v := at(from); {
			case isZero(v):
				return b
			case json:
				return append(hex.AppendEncode(append(b, '"'), v), '"')
			default:
				return hex.AppendEncode(b, v)
			}
		},
		parse: func(to *T, v reader.Value) error { return parseID(at(to), v) },
	}
}

func isZero(id []byte) bool {
	for _, c := range id {
		if c != 0 {
			return false
		}
	}
	return true
}

func truth[T any](name, doc string, at func(*T) *bool) member[T] {
	return member[T]{
		name: name, kind: isTrue, doc: doc,
		append: func(b []byte, from *T, _ *clock, _ bool) []byte {
			if *at(from) {
				b = append(b, "true"...)
			}
			return b
		},
		parse: func(to *T, v reader.Value) error {
			*at(to) = v.Bool()
			return nil
		},
	}
}

func moment[T any](name, doc string, at func(*T) *time.Time) member[T] {
	return member[T]{
		name: name, kind: aTime, doc: doc,
		append: func(b []byte, from *T, c *clock, json bool) []byte {
			switch t := *at(from); {
			case t.IsZero():
				return b
			case json:
				return c.appendQuoted(b, t)
			default:
				return c.appendRFC3339(b, t)
			}
		},
		parse: func(to *T, v reader.Value) (err error) {
			*at(to), err = parseTime(v)
			return err
		},
	}
}

func fields[T any](name, doc string, at func(*T) *[]reader.Field) member[T] {
	return member[T]{
		name: name, kind: object, doc: doc,
		append: func(b []byte, from *T, _ *clock, _ bool) []byte {
			if list := *at(from); len(list) > 0 {
				b = reader.AppendJSON(b, list)
			}
			return b
		},
		parse: func(to *T, v reader.Value) error {
			*at(to) = v.Fields()
			return nil
		},
	}
}

// named is a number from first to last that has a name. A lower one has none, and is left out.
func named[T any, N interface {
	~uint8
	String() string
}](name, doc string, first, last N, at func(*T) *N) member[T] {
	return member[T]{
		name: name, kind: aText, doc: doc,
		append: func(b []byte, from *T, _ *clock, json bool) []byte {
			if n := *at(from); n >= first {
				b = appendString(b, n.String(), json)
			}
			return b
		},
		parse: func(to *T, v reader.Value) error {
			for n := first; n <= last; n++ {
				if n.String() == v.Text() {
					*at(to) = n
					return nil
				}
			}
			return fmt.Errorf("unknown: %s", v)
		},
	}
}
