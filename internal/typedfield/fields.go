// Package typedfield writes the fields of typed events: one by one into a payload that a [Layout] begins, or from a struct, as the
// whole of a payload ([Plan]) or a part of one ([Fields]). Package typed has the public part, and says how values are represented.
//
// All functions append to a buffer of the caller's, which usually begins with the four bytes of a write index, and use the byte
// order of the machine, as the kernel demands. None allocates, except to grow the buffer.
package typedfield

import (
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

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

// MaxFieldName is the length in bytes of the longest field name.
const MaxFieldName = 64

// FieldName returns the field name for a name from elsewhere. Package typed says how it is made.
func FieldName(name string) string {
	if len(name) <= MaxFieldName && isFieldName(name) {
		return name
	}
	var b strings.Builder
	for _, r := range name {
		switch {
		case isWord(r):
			b.WriteRune(r)
		case r < utf8.RuneSelf:
			b.WriteByte('_')
		default:
			fmt.Fprintf(&b, "u%04x", r)
		}
	}
	field := b.String()
	if !isFieldName(field) {
		field = "_" + field
	}
	if len(field) > MaxFieldName {
		h := fnv.New32a()
		h.Write([]byte(name))
		field = field[:MaxFieldName-len("_01234567")] + fmt.Sprintf("_%08x", h.Sum32())
	}
	return field
}

func isFieldName(s string) bool {
	return s != "" && (s[0] < '0' || s[0] > '9') && !strings.HasPrefix(s, "common_") &&
		strings.IndexFunc(s, func(r rune) bool { return !isWord(r) }) < 0
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}

// Plan writes whole payloads from values of one struct type. Package typed has its documentation.
type Plan struct {
	layout *Layout
	copier copier

	// Room for n bytes is for the fast path if n-low, unsigned, is not above span. If there is
	// more to write than numbers and strings, none is.
	low  int
	span uint
}

// NewPlan returns the plan for an event called name with the fields of the struct type t.
func NewPlan(t reflect.Type, name string) (Plan, error) {
	b := builder{paths: map[string]string{}}
	l, err := b.build(t, name)
	if err != nil {
		return Plan{}, fmt.Errorf("struct event %q from %v: %w", name, t, err)
	}
	c := newCopier(b.fields)
	p := Plan{layout: l, copier: c, low: c.least(), span: uint(MaxLimit - c.least())}
	if !c.simple {
		p.low, p.span = math.MaxInt, 0
	}
	return p, nil
}

// Declaration returns the event's name and fields. Do not change the fields.
func (p *Plan) Declaration() tracepoint.Declaration { return p.layout.Declaration() }

// Append appends the payload for the struct that v points to.
func (p *Plan) Append(dst []byte, v Pointer, limit int) (out []byte, truncated int) {
	if room := min(limit, cap(dst)-len(dst)); uint(room-p.low) <= p.span {
		payload := behind(dst)
		end := p.copier.fast(payload, payload, v, uintptr(p.low), uintptr(room))
		if end > 0 {
			return dst[:len(dst)+end], 0
		}
		if room == limit {
			return p.general(dst, v, limit, 0)
		}
	}
	return p.general(dst, v, limit, -1)
}

// general appends any payload. End is negative, or 0 if fast has run for limit bytes and failed.
func (p *Plan) general(dst []byte, v pointer, limit, end int) (out []byte, truncated int) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	limit = min(max(limit, p.copier.least()), MaxLimit)
	start := len(dst)
	dst = slices.Grow(dst, limit)
	if end < 0 {
		payload := behind(dst)
		end = p.copier.fast(payload, payload, v, uintptr(p.copier.size), uintptr(limit-p.copier.ids))
	}
	var w writer // a composite literal would be copied
	w.b, w.start, w.at, w.end = dst[:cap(dst)], start, start, start+p.copier.size
	w.limit, w.share = start+limit, limit
	p.copier.write(&w, v, end)
	if at := p.copier.truncatedAt; at >= 0 {
		PutU32(w.b, start+at, uint32(w.truncated))
	}
	return w.b[:w.end], w.truncated
}

// Limits of payloads in bytes, without the write index.
const (
	DefaultLimit = tracepoint.MaxPayload          // what ftrace keeps
	MaxLimit     = 0xFFFF - tracepoint.CommonSize // of which all locations fit 16 bits
)

// Layout is a [tracepoint.Declaration] made ready for writing payloads: the
// offsets of its fields and a payload in which every field is zero or empty. It does not change and
// may be used concurrently.
type Layout struct {
	decl    tracepoint.Declaration
	offsets []int
	fixed   int
	empty   []byte
}

// NewLayout returns the layout of an event. The error is what
// [tracepoint.Declaration.Validate] says, or tells that no payload of the event would fit into
// [DefaultLimit]; it wraps [tracepoint.ErrInvalid]. The layout keeps d.Fields.
func NewLayout(d tracepoint.Declaration) (*Layout, error) {
	if err := d.Validate(); err != nil {
		return nil, err
	}
	l := &Layout{decl: d, fixed: d.FixedSize()}
	if l.fixed >= DefaultLimit {
		return nil, &tracepoint.Error{
			Declaration: d.String(), Field: -1,
			Problem: fmt.Sprintf("fixed part of %d bytes, and tracing tools keep less than %d: drop or shorten arrays", l.fixed, DefaultLimit),
		}
	}
	l.empty = make([]byte, l.fixed)
	at := 0
	for i, f := range d.Fields {
		l.offsets = append(l.offsets, at)
		switch {
		case f.Type.Location == tracepoint.RelLoc && IsText(f.Type):
			return nil, &tracepoint.Error{
				Declaration: d.String(), Field: i,
				Problem: "Perfetto does not read __rel_loc texts, and this package does not write them: declare it as __data_loc",
			}
		case f.Type.Location == tracepoint.DataLoc && IsText(f.Type):
			putNoText(l.empty, 0, at)
		case f.Type.Location == tracepoint.DataLoc:
			putDataLoc(l.empty, at, l.fixed, 0)
		}
		at += f.Type.FixedSize()
	}
	return l, nil
}

// IsText reports whether consumers print an array of the type as text.
func IsText(t tracepoint.Type) bool {
	return (t.Kind == tracepoint.Char || t.Kind == tracepoint.UChar) && (t.Len > 0 || t.Location != tracepoint.Fixed)
}

// Declaration returns the event's name and fields. Do not change the fields.
func (l *Layout) Declaration() tracepoint.Declaration { return l.decl }

// Offsets returns where each field begins, in bytes from the start of the payload, in the order of
// the declaration's fields.
func (l *Layout) Offsets() []int { return slices.Clone(l.offsets) }

// FixedSize returns the size in bytes of the fixed part, the least that the kernel accepts as a payload, and
// of the payload that [Layout.Begin] appends.
func (l *Layout) FixedSize() int { return l.fixed }

// Begin appends a payload in which every number is zero and every text and
// array is empty. It is complete as it is. The Put and Append functions fill in fields; their
// argument at is len(dst), as it was before Begin, plus the field's offset.
func (l *Layout) Begin(dst []byte) []byte { return append(dst, l.empty...) }
