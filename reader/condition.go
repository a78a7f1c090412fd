package reader

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/internal/condition"
)

// Condition selects records by what they say. [ParseCondition] makes one. Its methods may be called concurrently.
//
//	level >= warn and not (route ~ "/health*")
//	status >= 500 or duration > 100ms
//	kind == span and has(db.table) and message =~ "(?i)timeout"
//	trace_id == 4bf92f3577b34da6a3ce929d0e0e4736
//	program in (checkout, "payment service")
//
// A comparison is NAME OPERATOR VALUE:
//
//	==  !=        equal, not equal; = is ==
//	<  <=  >  >=  of numbers, times and levels
//	~             the text matches a pattern with *, ? and [a-z]
//	=~            a part of the text matches a regular expression of package regexp
//	in (A, B)     equal to one of the values
//	&             a bit of the number is set
//
// has NAME holds for records that have the name. Comparisons are joined by and, or, not and parentheses; &&, || and ! are the same.
//
// A value is a number, a time with its unit such as 1.5s, a word, or text in quotes of one of the kinds " ' `, without escapes. Texts are
// compared as tools print them, with the escapes of package text. A time is compared with nanoseconds, or in the unit that the name of
// the attribute ends in: _us, _ms or _s.
//
// Names are those of the record's parts (kind, level, message, trace_id, program, duration, ...; [ConditionNames] lists them) and of its
// attributes. A part that only some kinds of records have, such as duration or status, is an attribute's name in the others. fields.NAME
// is always an attribute, and resource.NAME one of the resource. db.table is the member table of the group db, or the attribute of that name. An attribute http.route of a declared
// record, whose field is http_route, has both names, and so has latency, whose field is latency_ns. A name of other characters needs quotes.
//
// A comparison does not hold if the record lacks the name, also with != and not in. For a list it holds if it does for an element, and
// with != and not in for all of them. The message of a declared record is the name of its event. A declared record and its copy in the
// event of its level are one record: the first decides.
// level == warn holds for all of WARN, WARN2, WARN3 and WARN4. The beginning of an id is equal to it.
type Condition struct {
	text   string
	root   node
	leaves []*leaf
}

// ParseCondition parses a condition. The error says what is wrong and where, and wraps
// [fs.ErrInvalid].
func ParseCondition(text string) (*Condition, error) {
	c := &Condition{text: text}
	var err error
	if c.root, err = condition.Parse(text, condition.Builder[node]{And: newAnd, Or: newOr, Not: newNot, Compare: c.compare}); err != nil {
		return nil, err
	}
	return c, nil
}

// String returns the text of the condition.
func (c *Condition) String() string { return c.text }

// Match reports whether the condition selects an event, which was decoded with DecodeFull.
func (c *Condition) Match(ev *Event) bool { return c.root.match(ev) }

// UnknownNames returns the names of the condition that records were asked for, and that none of these had, nor a tracepoint that Plan was asked
// about: they may be misspelt. A record that an earlier part of the condition decides is not asked.
func (c *Condition) UnknownNames() (names []string) {
	for _, l := range c.leaves {
		if l.asked.Load() && !l.found.Load() && !slices.Contains(names, l.name) {
			names = append(names, l.name)
		}
	}
	return names
}

// node is an expression: and, or, not or *leaf.
type node interface{ match(ev *Event) bool }

type (
	and struct{ x, y node }
	or  struct{ x, y node }
	not struct{ x node }
)

func newAnd(x, y node) node { return and{x, y} }
func newOr(x, y node) node  { return or{x, y} }
func newNot(x node) node    { return not{x} }

func (n and) match(ev *Event) bool { return n.x.match(ev) && n.y.match(ev) }
func (n or) match(ev *Event) bool  { return n.x.match(ev) || n.y.match(ev) }
func (n not) match(ev *Event) bool { return !n.x.match(ev) }

type leaf struct {
	text    string // of the condition
	name    string
	part    *part  // of the record; nil if the name is an attribute's alone
	key     string // of the attribute
	where   place  // of the attribute
	op      condition.Op
	values  []value
	expr    *regexp.Regexp
	pattern *globPattern

	asked, found atomic.Bool // a record that lacks the name, or has it
}

type place uint8

const (
	anywhere place = iota
	inFields
	inResource
)

type value struct {
	condition.Value

	severities [2]Severity // of a level: the first and the last
	digits     string      // of an id
	time       time.Duration
	isTime     bool // it was written as a time
}

func (l *leaf) match(ev *Event) bool {
	isPart := l.part != nil && l.part.applies(ev.Kind)
	if isPart && l.part.id != nil && l.op <= condition.NotEqual {
		id := l.part.id(ev)
		if !isSet(id) {
			return l.lacks()
		}
		note(&l.found)
		begins := slices.ContainsFunc(l.values, func(v value) bool { return beginsWith(id, v.digits) })
		return begins == (l.op == condition.Equal)
	}
	v := l.of(ev)
	switch {
	case v.typ == TypeNull:
		return l.lacks()
	case l.op == condition.Has:
		note(&l.found)
		return true
	}
	note(&l.found)
	if isPart && l.part.class == programPart && ev.Process != nil {
		return l.program(ev)
	}
	return l.holds(ev, &v, isPart)
}

func (l *leaf) lacks() bool {
	note(&l.asked)
	return false
}

// note sets a flag. Most calls find it set, and do not write to memory that other processors read.
func note(flag *atomic.Bool) {
	if !flag.Load() {
		flag.Store(true)
	}
}

// of returns the value of the name, null if the record lacks it.
func (l *leaf) of(ev *Event) Value {
	if l.part != nil && l.part.applies(ev.Kind) {
		return l.part.of(ev)
	}
	if l.where != inResource {
		if v, ok := ev.Lookup(l.key); ok {
			return v
		}
	}
	if l.where != inFields {
		v, _ := find(ev.Resource, l.key)
		return v
	}
	return Value{}
}

// program compares the names of a program: that of the process, which may be a part of it, and that of the file, which may be unknown.
func (l *leaf) program(ev *Event) bool {
	p := ev.Process
	comm, file := StringValue(p.Comm), StringValue("")
	if p.Exe != "" {
		file.str = p.Program()
	}
	holds := l.holds(ev, &comm, true)
	switch {
	case file.str != "" && l.op == condition.NotEqual:
		return holds && l.holds(ev, &file, true)
	case file.str != "":
		return holds || l.holds(ev, &file, true)
	case len(p.Comm) < maxComm || l.op > condition.NotEqual:
		return holds
	}
	for i := range l.values {
		if strings.HasPrefix(l.values[i].Text, p.Comm) {
			return l.op == condition.Equal
		}
	}
	return holds
}

// holds reports whether the comparison holds for a value, which isPart says is that of a part of the record.
func (l *leaf) holds(ev *Event, v *Value, isPart bool) bool {
	if l.op == condition.NotEqual {
		return !l.equalsAny(ev, v, isPart)
	}
	if v.typ == TypeList {
		for i := range v.list {
			if l.holds(ev, &v.list[i].Value, isPart) {
				return true
			}
		}
		return false
	}
	switch l.op {
	case condition.Regexp:
		return l.expr.MatchString(v.printed())
	case condition.Glob:
		return l.pattern.match(v.printed())
	case condition.Mask:
		bits, ok := v.number().Bits()
		mask, _ := l.values[0].Number.Bits()
		return ok && bits&mask != 0
	case condition.Equal:
		return l.equalsAny(ev, v, isPart)
	default:
		if isPart && l.part.class == levelPart {
			return l.values[0].orders(l.op, Severity(v.Int64()))
		}
		n, to := l.numbers(ev, v, &l.values[0], isPart)
		return n.Kind != condition.None && l.op.Holds(n.Compare(to))
	}
}

// numbers returns two numbers of one unit: that of a value, which may be a time in a text, and that of the condition.
func (l *leaf) numbers(ev *Event, v *Value, to *value, isPart bool) (n, m condition.Number) {
	if to.isTime {
		if v.typ == TypeString || v.typ == TypeBytes {
			if d, err := time.ParseDuration(v.printed()); err == nil {
				return condition.OfInt(int64(d)), condition.OfInt(int64(to.time))
			}
		}
		if isPart && ev != nil && ev.Point != nil {
			if unit := unitOf(ev.Point.Unit); unit != 0 {
				return v.number(), condition.OfFloat(float64(to.time) / float64(unit))
			}
		}
	}
	return v.number(), to.Number
}

// equalsAny reports whether a value, or an element of a list, is equal to one of the condition's.
func (l *leaf) equalsAny(ev *Event, v *Value, isPart bool) bool {
	if v.typ == TypeList {
		for i := range v.list {
			if l.equalsAny(ev, &v.list[i].Value, isPart) {
				return true
			}
		}
		return false
	}
	for i := range l.values {
		if l.equal(ev, v, &l.values[i], isPart) {
			return true
		}
	}
	return false
}

func (l *leaf) equal(ev *Event, v *Value, to *value, isPart bool) bool {
	if isPart && l.part.class == levelPart {
		s := Severity(v.Int64())
		return s >= to.severities[0] && s <= to.severities[1]
	}
	switch v.typ {
	case TypeString, TypeBytes, TypeMap:
		return v.printed() == to.Text
	default:
		if to.Text != "true" && to.Text != "false" {
			break
		}
		if n, ok := v.number().Bits(); ok && n <= 1 { // a declared attribute that is true or false is a number
			return (n == 1) == (to.Text == "true")
		}
	}
	if to.Number.Kind != condition.None {
		n, m := l.numbers(ev, v, to, isPart)
		return n.Kind != condition.None && n.Compare(m) == 0
	}
	return v.printed() == to.Text
}

// orders compares a severity with a level, which may be a range of severities: all of a range that is greater are.
func (to *value) orders(o condition.Op, s Severity) bool {
	switch o {
	case condition.Less:
		return s < to.severities[0]
	case condition.LessOrEqual:
		return s <= to.severities[1]
	case condition.Greater:
		return s > to.severities[1]
	default:
		return s >= to.severities[0]
	}
}

// number returns a number, also one that is written in a text. It is that of the value's JSON, so that records and recordings have the same:
// integers are written without a fraction, bytes are base64, and NaN and the infinities are texts.
func (v *Value) number() condition.Number {
	switch v.typ {
	case TypeInt64:
		return condition.OfInt(int64(v.num))
	case TypeUint64:
		return condition.OfUint(v.num)
	case TypeFloat64:
		switch f := floatOf(v.num); {
		case math.Abs(f) < 1<<53 && f == math.Trunc(f):
			return condition.OfInt(int64(f))
		case math.Abs(f) < 1<<53:
			return condition.OfFloat(f)
		}
		return condition.ParseNumber(v.printed())
	case TypeString:
		return condition.ParseNumber(v.str)
	case TypeBytes:
		return condition.ParseNumber(v.printed())
	default:
		return condition.Number{}
	}
}
