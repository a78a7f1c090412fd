package eventheader

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Variable is the [Field.Array] of an array whose number of elements is known only when an event is logged.
const Variable = -1

// Field describes a field of a [Schema].
type Field struct {
	Name string
	Type Type
	Tag  uint16 // for the provider's own use
	// Array makes the field an array of that many elements, or of [Variable]
	// many. 0 means a single value.
	Array int
	// Fields are the children of a field of TypeStruct.
	Fields []Field
}

// Schema is the shape of events that always have the same fields. Its metadata is made once; a
// [Record] only adds values. A Schema does not change and may be used concurrently.
type Schema struct {
	name   string
	prefix []byte // fixed header and metadata extension
	fields int    // where the fields' metadata begins in prefix
	order  order
	slots  []slot
	ops    []op // of the slots, for the shortest way; nil in the other byte order
	floor  int  // bytes after prefix if all values are cut
	items  int  // that a decoder finds, without the elements of variable arrays
}

// op is what a slot of a schema takes.
type op uint8

const (
	opDone     op = iota // nothing: all values are there
	opInt64              // any signed integer
	opUint64             // any unsigned integer
	opNumber             // an integer between min and max
	opSpecial            // a port or a character
	opFloat              // a float of size bytes
	opBool               // a boolean of 8 bits
	opWideBool           // a boolean of size bytes
	opUTF8               // a text in a counted String8 without a byte order mark
	opText               // another text
	opBytes              // counted bytes
	opRaw                // size bytes
	opNullable           // a value or null, in counted bytes
	opArray              // the number of elements of a variable array
	opFixed              // nothing: a fixed array of n elements begins
	opEnd                // nothing: an array's element ends, whose first slot is n
)

// slot is one step in the making of an event.
type slot struct {
	op    op
	size  uint8
	typ   Type
	n     int32 // of opArray: the slot after the array; otherwise see there
	min   int64
	max   uint64
	name  string // with those of the structs around it
	floor int32  // of opArray: bytes of an element all of whose values are cut
	items int32  // of opArray: items of an element
}

// NewSchema returns the schema of events with such a header and such fields, which
// it does not retain.
//
// An error wraps [ErrInvalid] and names the field. Names are 1 to 255 bytes of
// UTF-8 without a NUL or a semicolon. There may be 254 fields, 127 children of a
// struct, 8 levels of structs, and 4094 items altogether, where an array or a
// struct is two items and its elements or children count as well.
func NewSchema(h Header, fields ...Field) (*Schema, error) {
	s, err := newSchema(h, fields)
	if err != nil {
		return nil, fmt.Errorf("schema %q: %w", h.Name, err)
	}
	return s, nil
}

func newSchema(h Header, fields []Field) (*Schema, error) {
	switch {
	case !h.Level.valid():
		return nil, invalidf("level %d is not between %d and %d", h.Level, LevelCritical, LevelVerbose)
	case len(fields) > maxFields:
		return nil, invalidf("%d fields, the limit is %d", len(fields), maxFields)
	}
	if err := checkName(h.Name); err != nil {
		return nil, err
	}
	s := &Schema{name: h.Name}
	s.prefix, s.order = h.appendHeader(nil, nil)
	s.prefix = append(append(s.prefix, h.Name...), 0)
	s.fields = len(s.prefix)
	c := compiler{s: s}
	for _, f := range fields {
		if err := c.field(f, ""); err != nil {
			return nil, err
		}
	}
	s.slots = append(s.slots, slot{op: opDone})
	if !s.order {
		for _, slot := range s.slots {
			s.ops = append(s.ops, slot.op)
		}
	}
	s.items = c.items
	s.floor = c.floor + truncatedSize
	if size := len(s.prefix) + s.floor; size > MaxLimit {
		return nil, invalidf("%d bytes at least, the limit is %d", size, MaxLimit)
	}
	s.order.put16(s.prefix[headerSize:], uint16(len(s.prefix)-headerSize-extensionSize))
	return s, nil
}

// MinLimit returns the least limit in bytes with which a [Record] can make any event of this schema that has so many activity
// ids, 0 to 2. It then has all fields, although values of varying size may be cut to nothing. With less, [Record.End]
// returns [ErrTooLarge].
func (s *Schema) MinLimit(ids int) int { return len(s.prefix) + s.floor + idsSize(ids) }

func checkName(name string) error {
	switch {
	case name == "":
		return invalidf("empty name")
	case len(name) > maxNameSize:
		return invalidf("name is %d bytes long, the limit is %d", len(name), maxNameSize)
	case !utf8.ValidString(name):
		return invalidf("name %q is not UTF-8", name)
	case strings.ContainsAny(name, ";\x00"):
		return invalidf("name %q contains a semicolon or a NUL", name)
	}
	return nil
}

// mismatch is the error of a value that a slot does not take.
func (s *slot) mismatch(what string) error {
	switch s.op {
	case opDone:
		return invalidf("%s after the last field", what)
	case opArray:
		return invalidf("field %q: %s where the number of elements belongs", s.name, what)
	}
	return invalidf("field %q: type %v does not take %s", s.name, s.typ, what)
}
