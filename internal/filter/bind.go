package filter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/tracepoint"
)

// Filter is a filter for the records of one event.
type Filter struct {
	steps []step
	start int
	size  int // of the fixed part of a record, common fields included
}

// step is a comparison, and where to go on: an index, or accept or refuse.
type step struct {
	predicate
	yes, no int
}

const (
	accept = -1
	refuse = -2
)

// Bind looks up the fields of a filter in the format of a user event. The error is an [*Error] about the first
// comparison that the kernel refuses.
func (t *Tree) Bind(f tracepoint.Format) (*Filter, error) {
	b := binder{text: t.Text, format: f}
	b.filter.size = tracepoint.CommonSize
	for _, field := range f.Fields {
		b.filter.size = max(b.filter.size, field.Offset+field.Size)
	}
	b.filter.start = b.add(t.Root, accept, refuse)
	if b.err != nil {
		return nil, b.err
	}
	return &b.filter, nil
}

type binder struct {
	text   string
	format tracepoint.Format
	filter Filter
	err    error
}

// add compiles an expression whose result leads to one of two steps, and returns its first step. What follows is
// compiled first, so that the last error is that of the first comparison.
func (b *binder) add(x Expr, yes, no int) int {
	switch x := x.(type) {
	case And:
		return b.add(x.X, b.add(x.Y, yes, no), no)
	case Or:
		return b.add(x.X, yes, b.add(x.Y, yes, no))
	case Not:
		return b.add(x.X, no, yes)
	case *Comparison:
		p, err := b.compare(x)
		if err != nil {
			b.err = err
		}
		b.filter.steps = append(b.filter.steps, step{p, yes, no})
		return len(b.filter.steps) - 1
	}
	panic(fmt.Sprintf("filter: unknown expression %T", x))
}

// source says where the bytes of a field are.
type source uint8

const (
	nowhere source = iota // the kernel accepts comparisons, and calls them false
	number
	processor
	array // text of a fixed size
	dataLoc
	relLoc
	command
)

func (s source) isText() bool { return s >= array }

// field is a field as the kernel's filters see it.
type field struct {
	source       source
	signed       bool
	offset, size int
}

// generic are fields that all events have, unless they have an own one of that name (trace_define_generic_fields).
// CPU is an int, and stacktrace a pointer.
var generic = map[string]field{
	"CPU": {processor, true, 0, 4}, "cpu": {processor, true, 0, 4}, "common_cpu": {processor, true, 0, 4},
	"COMM": {source: command}, "comm": {source: command},
	"stacktrace": {source: nowhere}, "STACKTRACE": {source: nowhere},
	"common_type": {number, false, 0, 2}, "common_flags": {number, false, 2, 1},
	"common_preempt_count": {number, false, 3, 1}, "common_pid": {number, true, 4, 4},
}

func (b *binder) find(name string) (field, bool) {
	for _, f := range slices.Backward(b.format.Fields) { // of two fields with one name, the kernel finds the second
		if f.Name == name {
			return fieldOf(f), true
		}
	}
	f, ok := generic[name]
	return f, ok
}

// fieldOf follows filter_assign_type and user_event_parse_field, where every type that does not begin with u is signed.
func fieldOf(f tracepoint.FormatField) field {
	t := f.Type
	r := field{offset: f.Offset, size: f.Size, signed: t.Location != tracepoint.Fixed || t.Kind == tracepoint.Struct || t.Kind.Signed()}
	isChar := t.Kind == tracepoint.Char || t.Kind == tracepoint.UChar
	switch {
	case isChar && t.Location == tracepoint.DataLoc:
		r.source = dataLoc
	case isChar && t.Location == tracepoint.RelLoc:
		r.source = relLoc
	case isChar && t.Len > 0:
		r.source = array
	case f.Size == 1 || f.Size == 2 || f.Size == 4 || f.Size == 8:
		r.source = number
	}
	return r
}

func (b *binder) compare(c *Comparison) (p predicate, err error) {
	fail := func(at int, format string, args ...any) (predicate, error) {
		return p, &Error{Text: b.text, At: at, Problem: fmt.Sprintf(format, args...)}
	}
	f, ok := b.find(c.Field)
	if !ok {
		return fail(c.FieldAt, "the event has no field %s", c.Field)
	}
	p = predicate{field: f, op: c.Op}
	switch {
	case c.Quoted && !f.source.isText():
		return fail(c.ValueAt, "%s is a number, and is not compared with text", c.Field)
	case !c.Quoted && f.source.isText():
		return fail(c.ValueAt, "%s is text: the value needs quotes", c.Field)
	case c.Quoted && c.Op == Glob:
		p.pattern = compilePattern(c.Value)
	case c.Quoted:
		p.pattern = pattern{text: []byte(c.Value), not: c.Op == NotEqual}
	default:
		v, err := parseNumber(c.Value, f.signed)
		if err != nil {
			return fail(c.ValueAt, "%s is no number that %s can be compared with", c.Value, c.Field)
		}
		if f.source != nowhere {
			p.value = f.extend(v)
		}
	}
	return p, nil
}

// parseNumber is kstrtoll, or kstrtoull for unsigned fields: decimal, 0x1f or 017.
func parseNumber(s string, signed bool) (uint64, error) {
	sign, digits, base := "", strings.ToLower(s), 10
	if rest, ok := strings.CutPrefix(digits, "-"); ok {
		sign, digits = "-", rest
	}
	if rest, ok := strings.CutPrefix(digits, "0x"); ok {
		digits, base = rest, 16
	} else if strings.HasPrefix(digits, "0") {
		base = 8
	}
	if !signed {
		return strconv.ParseUint(sign+digits, base, 64)
	}
	v, err := strconv.ParseInt(sign+digits, base, 64)
	return uint64(v), err
}
