package typedfield

import (
	"fmt"
	"reflect"

	"github.com/userevents/userevents-go/tracepoint"
)

// Fields writes values of the struct type T as a part of an event that has other fields before and behind those of T.
// The rules are those of [Plan], except that T must not have a field of type typed.Truncated. Fields does not
// change and may be used concurrently.
type Fields[T any] struct {
	fields []builtField
	copier copier
}

// StructField is a field of a struct type as a field of an event.
type StructField struct {
	tracepoint.Field // as the event declares it

	// Key is the name in the tag, unchanged, or else the Go name. The keys of the structs that the field is in come
	// first, separated by dots; embedded structs without a name in their tag have none.
	Key   string
	Kind  GoKind
	Bits  int // of GoInt, GoUint and GoFloat: the size in Go, which the field in the event may exceed
	Scale int // of a GoFloat that the event has as an integer, value*Scale, or else 0
	Size  int // of a GoID and a GoFloat: how many bytes its text takes at most, with the NUL
}

// GoKind is the kind of Go type that a field has in the struct.
type GoKind uint8

// The kinds of Go types.
const (
	GoOther    GoKind = iota // an address, bytes as hex digits, an array
	GoBool                   // bool
	GoInt                    // a signed integer
	GoUint                   // an unsigned integer
	GoFloat                  // float32, float64
	GoString                 // string, []byte with the option text
	GoDuration               // time.Duration
	GoTime                   // time.Time
	GoID                     // [N]byte, written as hex digits or UUID, and never cut
)

// maxPart is how many bytes the texts and arrays of a part take together. Locations have 16 bits: the other
// half is for the rest of the payload.
const maxPart = 32 << 10

// maxFloat is the length of the longest number that text.AppendFloat writes, such as -0.0000012345678901234567, with a NUL.
const maxFloat = 26

// FieldsOf returns the fields that T declares. The error wraps [tracepoint.ErrInvalid] and names the field at fault.
// [NewLayout] of the whole event refuses names that the event's other fields have too.
func FieldsOf[T any]() (*Fields[T], error) {
	t := reflect.TypeFor[T]()
	fail := func(err error) (*Fields[T], error) { return nil, fmt.Errorf("event fields from %v: %w", t, err) }
	b := builder{paths: map[string]string{}}
	if _, err := b.build(t, "fields"); err != nil {
		return fail(err)
	}
	for _, field := range b.fields {
		if field.step.code == opTruncated {
			return fail(fmt.Errorf("%w: %s: only a Plan fills in a Truncated: leave the field out",
				tracepoint.ErrInvalid, where(b.paths[field.Name])))
		}
	}
	return &Fields[T]{fields: b.fields, copier: newCopier(b.fields)}, nil
}

// List returns the fields in the order in which the event has them.
func (f *Fields[T]) List() []StructField {
	list := make([]StructField, len(f.fields))
	for i, field := range f.fields {
		list[i] = field.StructField
		switch field.Kind {
		case GoID:
			list[i].Size = field.step.idSize()
		case GoFloat:
			list[i].Size = maxFloat
		default:
		}
	}
	return list
}

// Append writes the fields of *v into the payload that begins at dst[start] and ends at the end of dst so far. The first
// of the fields is at dst[at]; the others follow without gaps. All of them are written, whatever stood there. Texts and
// arrays are appended in the order of the fields, and their locations count from start.
//
// Each text, with its NUL, and each array takes at most max bytes, except for ids, which are never cut. All together take at
// most 32 KiB, and the payload at most [MaxLimit]; beyond that, the longest are cut as by [Plan.Append]. Append
// returns how many values were truncated. It grows dst only as far as needed.
//
// It does not keep v or anything that v points to, and *v does not escape. It panics if v is nil, or if dst
// does not have the fixed part.
func (f *Fields[T]) Append(dst []byte, start, at int, v *T, max int) (out []byte, truncated int) {
	return f.copier.append(dst, start, at, PointerTo(v), max)
}

// append is [Fields.Append].
func (c *copier) append(dst []byte, start, at int, v pointer, most int) (out []byte, truncated int) {
	most = max(most, 1)
	limit := min(len(dst)-start+maxPart, MaxLimit)
	end := c.fastBehind(dst, start, at, v, limit-c.ids, most)
	if end > 0 && c.simple {
		return dst[:start+end], 0
	}
	var w writer
	w.b, w.start, w.at, w.end = dst[:cap(dst)], start, at, len(dst)
	w.limit, w.share = start+limit, most-1
	c.write(&w, v, end)
	return w.b[:w.end], w.truncated
}

// Value returns the value of the field i of [Fields.List], for an encoding without declared fields: a bool, int64,
// uint64, float32, float64, string, time.Duration, time.Time (in UTC), or []int64 or []uint64 of an array. A text is
// neither escaped nor cut, and a float is not scaled. Value allocates: its result does not refer to what v points to, and
// *v does not escape. It panics if v is nil or if there is no field i.
func (f *Fields[T]) Value(i int, v *T) any {
	return f.fields[i].value(PointerTo(v))
}

// Plain is Value without allocating, for the kinds GoBool, GoInt, GoUint, GoDuration, GoString and, with 64 bits, GoFloat: a
// number, of which a GoFloat is the bits and a negative one is sign-extended, or a text, which is that of *v. ok is false for all others.
func (f *Fields[T]) Plain(i int, v *T) (num uint64, text string, ok bool) {
	return f.fields[i].plain(PointerTo(v))
}
