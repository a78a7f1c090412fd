package record

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/text"
)

// member is a member of the JSON object of a T, such as a record or a data point.
type member[T any] struct {
	name, kind, doc string
	key             text.Short // the comma, the name and the colon in front of the value
	part            part
	always          bool // 0 and false are written, too

	value func(from *T) Value                      // null if from lacks it, and of types that no condition compares
	put   func(b []byte, from *T, c *times) []byte // appends JSON, and nothing if from lacks it
	set   func(to *T, v *Value, c *times) error    // to what put wrote; an error says what the value is not
}

// Types of members, as the help explains them.
const (
	aText    = "text"
	aTime    = "time"
	anID     = "id"
	aNumber  = "number"
	isTrue   = "true"
	anArray  = "array"
	anObject = "object"
)

// putValue appends the value as JSON, unless from lacks it.
func (m *member[T]) putValue(b []byte, from *T, _ *times) []byte {
	switch v := m.value(from); {
	case v.typ == TypeNull, !m.always && v.num == 0 && v.typ != TypeString && v.typ != TypeBytes:
		return b
	default:
		return v.appendJSON(b)
	}
}

// always makes a member one that is written if it is 0, too.
func always[T any](m *member[T]) *member[T] {
	m.put, m.always = m.putValue, true
	return m
}

func noValue[T any](*T) Value { return Value{} }

// The functions below return a member from its place in a T.

// of returns a member. If put is nil, it puts the value.
func of[T any](name, kind, doc string, v func(*T) Value, put func([]byte, *T, *times) []byte, set func(*T, *Value, *times) error) *member[T] {
	m := &member[T]{name: name, kind: kind, doc: doc, value: v, put: put, set: set}
	m.key.Set([]byte(`,"` + name + `":`))
	if put == nil {
		m.put = m.putValue
	}
	return m
}

// setBy makes a member one that is set by a function of its own.
func setBy[T any](set func(to *T, v *Value) error, m *member[T]) *member[T] {
	m.set = func(to *T, v *Value, _ *times) error { return set(to, v) }
	return m
}

// special returns a member without a value for conditions.
func special[T any](name, kind, doc string, put func([]byte, *T, *times) []byte, set func(*T, *Value, *times) error) *member[T] {
	return of(name, kind, doc, noValue, put, set)
}

// value returns a member that is written whenever it is not null.
func value[T any](name, kind, doc string, v func(*T) Value, set func(*T, *Value) error) *member[T] {
	return setBy(set, always(of(name, kind, doc, v, nil, nil)))
}

func str[T any](name, doc string, at func(*T) *string) *member[T] {
	return of(name, aText, doc, func(from *T) Value { return textOrNull(*at(from)) },
		func(b []byte, from *T, _ *times) []byte {
			if s := *at(from); s != "" {
				b = attrjson.AppendString(b, s)
			}
			return b
		},
		func(to *T, v *Value, _ *times) error {
			*at(to) = v.Text()
			return nil
		})
}

func textOrNull(s string) Value {
	if s == "" {
		return Value{}
	}
	return StringValue(s)
}

func integer[T any, N ~int | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64](name, doc string, at func(*T) *N) *member[T] {
	return of(name, aNumber, doc,
		func(from *T) Value {
			if n := *at(from); n > 0 {
				return Uint64Value(uint64(n))
			}
			return Int64Value(int64(*at(from)))
		},
		func(b []byte, from *T, _ *times) []byte {
			switch n := *at(from); {
			case n > 0:
				return attrjson.AppendUint(b, uint64(n))
			case n < 0:
				return attrjson.AppendInt(b, int64(n))
			}
			return b
		},
		func(to *T, v *Value, _ *times) error {
			*at(to) = N(v.Uint64())
			return nil
		})
}

func knownNumber(n int64, known bool) Value {
	if !known {
		return Value{}
	}
	return Int64Value(n)
}

// counter is a number that is refused if it is none.
func counter[T any](name string, at func(*T) *uint64) *member[T] {
	return setBy(func(to *T, v *Value) error { return setCount(at(to), v) }, integer(name, "", at))
}

func setCount(to *uint64, v *Value) error {
	if v.typ != TypeUint64 && (v.typ != TypeInt64 || v.Int64() < 0) {
		return fmt.Errorf("no count: %s", v)
	}
	*to = v.num
	return nil
}

func fraction[T any](name string, at func(*T) *float64) *member[T] {
	return of(name, aNumber, "", func(from *T) Value { return Float64Value(*at(from)) }, nil,
		func(to *T, v *Value, _ *times) error { return setFloat(at(to), v) })
}

func setFloat(to *float64, v *Value) error {
	n, err := numberOf(v)
	*to = n.Float64()
	return err
}

// numeric is a number of any type.
func numeric[T any](name string, at func(*T) *Value) *member[T] {
	return value(name, aNumber, "", func(from *T) Value { return *at(from) }, func(to *T, v *Value) (err error) {
		*at(to), err = numberOf(v)
		return err
	})
}

// numberOf returns a number. JSON has those that are not finite as texts.
func numberOf(v *Value) (Value, error) {
	switch v.typ {
	case TypeInt64, TypeUint64, TypeFloat64:
		return *v, nil
	}
	switch v.Text() {
	case "NaN", "Infinity", "-Infinity":
		return numberText(v.str), nil
	}
	return *v, fmt.Errorf("no number: %s", v)
}

func setBytes(to *[]byte, v *Value) (err error) {
	*to, err = base64.StdEncoding.DecodeString(v.Text())
	return err
}

func truth[T any](name, doc string, at func(*T) *bool) *member[T] {
	return of(name, isTrue, doc, func(from *T) Value { return BoolValue(*at(from)) }, nil, func(to *T, v *Value, _ *times) error {
		*at(to) = v.Bool()
		return nil
	})
}

// named is a number that has a name. One below first has none, and is left out.
func named[T any, N ~uint8](key, doc string, names []string, first N, at func(*T) *N) *member[T] {
	get := func(from *T) Value {
		if n := *at(from); n >= first {
			return StringValue(name(names, n))
		}
		return Value{}
	}
	return of(key, aText, doc, get, nil, func(to *T, v *Value, _ *times) error {
		for n, name := range names[first:] {
			if name == v.Text() {
				*at(to) = first + N(n)
				return nil
			}
		}
		return fmt.Errorf("unknown: %s", v)
	})
}

func identifier[T any](name, doc string, at func(*T) []byte) *member[T] {
	get := func(from *T) Value {
		if id := at(from); strings.Trim(stringOf(id), "\x00") != "" {
			return BytesValue(id)
		}
		return Value{}
	}
	return of(name, anID, doc, get,
		func(b []byte, from *T, _ *times) []byte {
			if v := get(from); v.typ != TypeNull {
				b = append(hex.AppendEncode(append(b, '"'), v.Bytes()), '"')
			}
			return b
		},
		func(to *T, v *Value, _ *times) error {
			id, err := hex.DecodeString(v.Text())
			if err != nil || copy(at(to), id) != len(id) || len(id) != len(at(to)) {
				return fmt.Errorf("no id of %d bytes: %s", len(at(to)), v)
			}
			return nil
		})
}

func moment[T any](name, doc string, at func(*T) *time.Time) *member[T] {
	return special(name, aTime, doc,
		func(b []byte, from *T, c *times) []byte {
			if t := *at(from); !t.IsZero() {
				b = c.other.append(b, t)
			}
			return b
		},
		func(to *T, v *Value, c *times) (err error) {
			*at(to), err = c.other.parse(v)
			return err
		})
}

func list[T any](name, doc string, at func(*T) *[]Field) *member[T] {
	return special(name, anObject, doc,
		func(b []byte, from *T, _ *times) []byte {
			if fields := *at(from); len(fields) > 0 {
				b = AppendJSON(b, fields)
			}
			return b
		},
		func(to *T, v *Value, _ *times) error {
			*at(to) = v.Fields()
			return nil
		})
}

// element is the type of an array's elements.
type element[E any] struct {
	append func(b []byte, e *E, c *times) []byte
	set    func(e *E, v *Value, c *times) error
}

var (
	floats = element[float64]{
		func(b []byte, e *float64, _ *times) []byte { return attrjson.AppendFloat(b, *e) },
		func(e *float64, v *Value, _ *times) error { return setFloat(e, v) },
	}
	counts = element[uint64]{
		func(b []byte, e *uint64, _ *times) []byte { return attrjson.AppendUint(b, *e) },
		func(e *uint64, v *Value, _ *times) error { return setCount(e, v) },
	}
	addresses = element[uint64]{
		func(b []byte, e *uint64, _ *times) []byte {
			return append(strconv.AppendUint(append(b, `"0x`...), *e, 16), '"')
		},
		func(e *uint64, v *Value, _ *times) (err error) {
			digits, ok := strings.CutPrefix(v.Text(), "0x")
			if *e, err = strconv.ParseUint(digits, 16, 64); err != nil || !ok {
				return fmt.Errorf("no address: %s", v)
			}
			return nil
		},
	}
	// quantiles refuses a quantile without one of its members, which is not that of 0.
	quantiles = element[Quantile]{
		objects(quantileMembers).append,
		func(q *Quantile, v *Value, c *times) error {
			for _, m := range quantileMembers {
				if _, ok := v.Lookup(m.name); !ok {
					return errors.New("no " + m.name)
				}
			}
			return setMembers(quantileMembers, q, v, c)
		},
	}
)

func objects[E any](members []*member[E]) element[E] {
	return element[E]{
		func(b []byte, e *E, c *times) []byte { return appendObject(b, members, e, c) },
		func(e *E, v *Value, c *times) error { return setMembers(members, e, v, c) },
	}
}

func array[T, E any](name, doc string, e element[E], at func(*T) *[]E) *member[T] {
	return special(name, anArray, doc,
		func(b []byte, from *T, c *times) []byte {
			all := *at(from)
			for i := range all {
				b = e.append(append(b, "[,"[min(i, 1)]), &all[i], c)
			}
			if len(all) > 0 {
				b = append(b, ']')
			}
			return b
		},
		func(to *T, v *Value, c *times) error {
			all := make([]E, len(v.list))
			for i := range all {
				if err := e.set(&all[i], &v.list[i].Value, c); err != nil {
					return err
				}
			}
			if *at(to) = nil; len(all) > 0 {
				*at(to) = all
			}
			return nil
		})
}

// object is an object at a pointer, which is nil if from lacks it. create returns the place for a new one.
func object[T, E any](name, doc string, members []*member[E], at, create func(*T) *E) *member[T] {
	return special(name, anObject, doc,
		func(b []byte, from *T, c *times) []byte {
			if e := at(from); e != nil {
				b = appendObject(b, members, e, c)
			}
			return b
		},
		func(to *T, v *Value, c *times) error { return setMembers(members, create(to), v, c) })
}

func appendObject[T any](b []byte, members []*member[T], from *T, c *times) []byte {
	start := len(b)
	if b = appendMembers(b, members, from, c); len(b) == start {
		b = append(b, '{')
	}
	b[start] = '{' // in place of the comma in front of the first member
	return append(b, '}')
}

// appendMembers appends members, each with a comma in front. It omits those that from lacks.
func appendMembers[T any](b []byte, members []*member[T], from *T, c *times) []byte {
	for _, m := range members {
		start := len(b)
		b = m.key.Append(b)
		value := len(b)
		if b = m.put(b, from, c); len(b) == value {
			b = b[:start]
		}
	}
	return b
}

// setMembers reads the members of an object. It ignores unknown ones: later versions may add some.
func setMembers[T any](members []*member[T], to *T, v *Value, c *times) error {
	for i := range v.list {
		f := &v.list[i]
		for _, m := range members {
			if m.name == f.Name {
				if err := m.set(to, &f.Value, c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
