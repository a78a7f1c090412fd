package output

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/reader"
)

// ParseEvent sets an event from the object that -o json writes. It ignores unknown members: later versions may add some. An
// error says what is no member of a record.
func ParseEvent(ev *reader.Event, v reader.Value) error {
	*ev = reader.Event{CPU: -1}
	known := false
	for _, f := range v.Fields() {
		c := columnOf[f.Name]
		if c == nil || c.parse == nil {
			continue
		}
		if err := c.parse(ev, f.Value); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		known = true
	}
	if !known {
		return fmt.Errorf("no member is one of a record")
	}
	if ev.Kind == reader.KindMetric && ev.Point == nil {
		return fmt.Errorf("a metric without a point")
	}
	if p := ev.Process; p != nil && *p != (reader.Process{}) {
		p.PID = ev.PID
	} else {
		ev.Process = nil
	}
	return nil
}

func parseTime(v reader.Value) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, v.Text())
	if err != nil {
		return time.Time{}, fmt.Errorf("no time: %s", v)
	}
	return t.UTC(), nil
}

func parseID(to []byte, v reader.Value) error {
	id, err := hex.DecodeString(v.Text())
	if err != nil || copy(to, id) != len(id) || len(id) != len(to) {
		return fmt.Errorf("no id of %d bytes: %s", len(to), v)
	}
	return nil
}

// parseNumber returns a number. JSON has those that are not finite as texts.
func parseNumber(v reader.Value) (reader.Value, error) {
	switch v.Type() {
	case reader.TypeInt64, reader.TypeUint64, reader.TypeFloat64:
		return v, nil
	}
	switch v.Text() {
	case "NaN", "Infinity", "-Infinity":
		f, err := strconv.ParseFloat(v.Text(), 64)
		return reader.Float64Value(f), err
	}
	return v, fmt.Errorf("no number: %s", v)
}

func parseFloat(v reader.Value) (float64, error) {
	n, err := parseNumber(v)
	return n.Float64(), err
}

func parseCount(v reader.Value) (uint64, error) {
	if v.Type() != reader.TypeUint64 && (v.Type() != reader.TypeInt64 || v.Int64() < 0) {
		return 0, fmt.Errorf("no count: %s", v)
	}
	return v.Uint64(), nil
}

func parseBytes(v reader.Value) ([]byte, error) { return base64.StdEncoding.DecodeString(v.Text()) }

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

type element[E any] struct {
	append func(b []byte, e *E, c *clock) []byte
	parse  func(v reader.Value) (E, error)
}

var (
	floats = element[float64]{func(b []byte, e *float64, _ *clock) []byte { return attrjson.AppendFloat(b, *e) }, parseFloat}
	counts = element[uint64]{func(b []byte, e *uint64, _ *clock) []byte { return attrjson.AppendUint(b, *e) }, parseCount}
)

func objects[E any](members []member[E]) element[E] {
	return element[E]{
		append: func(b []byte, e *E, c *clock) []byte { return appendObject(b, members, e, c) },
		parse: func(v reader.Value) (e E, err error) {
			err = parseObject(members, &e, v)
			return e, err
		},
	}
}

func array[T, E any](name, doc string, e element[E], at func(*T) *[]E) member[T] {
	return member[T]{
		name: name, kind: anArray, doc: doc,
		append: func(b []byte, from *T, c *clock, _ bool) []byte {
			list := *at(from)
			if len(list) == 0 {
				return b
			}
			for i := range list {
				b = append(b, "[,"[min(i, 1)])
				b = e.append(b, &list[i], c)
			}
			return append(b, ']')
		},
		parse: func(to *T, v reader.Value) error {
			for _, f := range v.Fields() {
				one, err := e.parse(f.Value)
				if err != nil {
					return err
				}
				*at(to) = append(*at(to), one)
			}
			return nil
		},
	}
}

func appendObject[T any](b []byte, members []member[T], from *T, c *clock) []byte {
	b = append(b, '{')
	first := len(b)
	for i := range members {
		m := &members[i]
		start := len(b)
		if start > first {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), m.name...), `":`...)
		value := len(b)
		if b = m.append(b, from, c, true); len(b) == value {
			b = b[:start]
		}
	}
	return append(b, '}')
}

// parseObject reads the members of an object. It ignores unknown ones: later versions may add some.
func parseObject[T any](members []member[T], to *T, v reader.Value) error {
	for _, f := range v.Fields() {
		for i := range members {
			if members[i].name == f.Name {
				if err := members[i].parse(to, f.Value); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
