// Package where selects records by conditions on what they say, and says which part of a condition the kernel can evaluate.
package where

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/record"
)

// Condition selects records by what they say; nil selects all. [Parse] makes one. Its methods may be called concurrently.
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
// Names are those of the record's parts (kind, level, message, trace_id, program, duration, ...; [Names] lists them) and of its
// attributes. A part that only some kinds of records have, such as duration or status, is an attribute's name in the others. fields.NAME
// is always an attribute, and resource.NAME one of the resource. db.table is the member table of the group db, or the attribute of that name. An attribute http.route of a declared
// record, whose field is http_route, has both names, and so has latency, whose field is latency_ns. A name of other characters needs quotes.
//
// A comparison does not hold if the record lacks the name, also with != and not in. An empty text is a lack of the part, a number that is 0 is
// none, nor is the status unset; trace_flags is there if the event has such a field. For a list it holds if it does for an element, and
// with != and not in for all of them. The message of a declared record is the name of its event. A declared record and its copy in the
// event of its level are one record: the first decides.
// level == warn holds for all of WARN, WARN2, WARN3 and WARN4. The beginning of an id is equal to it.
type Condition struct {
	text   string
	root   node
	leaves []*leaf
}

// And returns a condition that holds if all of these do.
func And(conditions ...*Condition) *Condition {
	return join(conditions, " and ", func(x, y node) node { return and{x, y} })
}

// Or returns a condition that holds if one of these does.
func Or(conditions ...*Condition) *Condition {
	if slices.Contains(conditions, nil) {
		return nil
	}
	return join(conditions, " or ", func(x, y node) node { return or{x, y} })
}

// Not returns a condition that holds if c, which is not nil, does not.
func Not(c *Condition) *Condition {
	return &Condition{text: "not (" + c.text + ")", root: not{c.root}, leaves: c.leaves}
}

// join returns the condition of those that are not nil, or nil.
func join(conditions []*Condition, operator string, join func(x, y node) node) *Condition {
	var joined *Condition
	var texts []string
	for _, c := range conditions {
		switch {
		case c == nil:
			continue
		case joined == nil:
			joined = c
		default:
			joined = &Condition{root: join(joined.root, c.root), leaves: slices.Concat(joined.leaves, c.leaves)}
		}
		texts = append(texts, c.text)
	}
	if len(texts) > 1 {
		joined.text = "(" + strings.Join(texts, ")"+operator+"(") + ")"
	}
	return joined
}

// String returns the text of the condition.
func (c *Condition) String() string {
	if c == nil {
		return ""
	}
	return c.text
}

// Match reports whether the condition selects a record.
func (c *Condition) Match(rec *record.Record) bool { return c == nil || c.root.match(rec) }

// UnknownNames returns the names of the condition that records were asked for, and that none of these had, nor a tracepoint that Plan was asked
// about: they may be misspelt. A record that an earlier part of the condition decides is not asked.
func (c *Condition) UnknownNames() (names []string) {
	if c == nil {
		return nil
	}
	for _, l := range c.leaves {
		if l.asked.Load() && !l.found.Load() && !slices.Contains(names, l.name) {
			names = append(names, l.name)
		}
	}
	return names
}

// node is an expression: and, or, not or *leaf.
type node interface{ match(rec *record.Record) bool }

type (
	and struct{ x, y node }
	or  struct{ x, y node }
	not struct{ x node }
)

func (n and) match(rec *record.Record) bool { return n.x.match(rec) && n.y.match(rec) }
func (n or) match(rec *record.Record) bool  { return n.x.match(rec) || n.y.match(rec) }
func (n not) match(rec *record.Record) bool { return !n.x.match(rec) }

type leaf struct {
	text    string // of the condition
	name    string
	part    *part  // of the record; nil if the name is an attribute's alone
	key     string // of the attribute
	where   place  // of the attribute
	op      operator
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

// value is a value that a name is compared with.
type value struct {
	text   string // without the quotes
	at     int    // offset in the text of the condition
	quoted bool
	number number // not of quoted text

	severities [2]record.Severity // of a level: the first and the last
	digits     string             // of an id
	time       time.Duration
	isTime     bool // it was written as a time
}

func (l *leaf) match(rec *record.Record) bool {
	isPart := l.part != nil && l.part.applies(rec.Kind)
	if isPart && l.part.class == idPart && l.op <= opNotEqual {
		id := l.part.member.Value(rec).Bytes()
		if id == nil {
			return l.lacks()
		}
		note(&l.found)
		begins := slices.ContainsFunc(l.values, func(v value) bool { return beginsWith(id, v.digits) })
		return begins == (l.op == opEqual)
	}
	v := l.of(rec)
	switch {
	case v.Type() == record.TypeNull:
		return l.lacks()
	case l.op == opHas:
		note(&l.found)
		return true
	}
	note(&l.found)
	if isPart && l.part.class == programPart && rec.Process != nil {
		return l.program(rec)
	}
	return l.holds(rec, &v, isPart)
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
func (l *leaf) of(rec *record.Record) record.Value {
	if l.part != nil && l.part.applies(rec.Kind) {
		return l.part.value(rec)
	}
	if l.where != inResource {
		if v, ok := rec.Lookup(l.key); ok {
			return v
		}
	}
	if l.where != inFields {
		v, _ := record.MapValue(rec.Resource).Lookup(l.key)
		return v
	}
	return record.Value{}
}

// program compares the names of a program: that of the process, which may be a part of it, and that of the file, which may be unknown.
func (l *leaf) program(rec *record.Record) bool {
	p := rec.Process
	comm := record.StringValue(p.Comm)
	holds := l.holds(rec, &comm, true)
	file := record.StringValue(p.Program())
	switch {
	case p.Exe != "" && l.op == opNotEqual:
		return holds && l.holds(rec, &file, true)
	case p.Exe != "":
		return holds || l.holds(rec, &file, true)
	case len(p.Comm) < maxComm || l.op > opNotEqual:
		return holds
	}
	for i := range l.values {
		if strings.HasPrefix(l.values[i].text, p.Comm) {
			return l.op == opEqual
		}
	}
	return holds
}

// holds reports whether the comparison holds for a value, which isPart says is that of a part of the record.
func (l *leaf) holds(rec *record.Record, v *record.Value, isPart bool) bool {
	if l.op == opNotEqual {
		return !l.equalsAny(rec, v, isPart)
	}
	if v.Type() == record.TypeList {
		list := v.Fields()
		for i := range list {
			if l.holds(rec, &list[i].Value, isPart) {
				return true
			}
		}
		return false
	}
	switch l.op {
	case opRegexp:
		return l.expr.MatchString(printed(v))
	case opGlob:
		return l.pattern.match(printed(v))
	case opMask:
		bits, ok := numberIn(v).bits()
		mask, _ := l.values[0].number.bits()
		return ok && bits&mask != 0
	case opEqual:
		return l.equalsAny(rec, v, isPart)
	default:
		if isPart && l.part.class == levelPart {
			return l.values[0].orders(l.op, record.Severity(v.Int64()))
		}
		n, to := l.numbers(rec, v, &l.values[0], isPart)
		return n.kind != noNumber && l.op.holds(n.compare(to))
	}
}

// numbers returns two numbers of one unit: that of a value, which may be a time in a text, and that of the condition.
func (l *leaf) numbers(rec *record.Record, v *record.Value, to *value, isPart bool) (n, m number) {
	if to.isTime {
		if v.Type() == record.TypeString || v.Type() == record.TypeBytes {
			if d, err := time.ParseDuration(printed(v)); err == nil {
				return intOf(int64(d)), intOf(int64(to.time))
			}
		}
		if isPart && rec != nil && rec.Point != nil {
			if unit := unitOf(rec.Point.Unit); unit != 0 {
				return numberIn(v), floatOf(float64(to.time) / float64(unit))
			}
		}
	}
	return numberIn(v), to.number
}

// equalsAny reports whether a value, or an element of a list, is equal to one of the condition's.
func (l *leaf) equalsAny(rec *record.Record, v *record.Value, isPart bool) bool {
	if v.Type() == record.TypeList {
		list := v.Fields()
		for i := range list {
			if l.equalsAny(rec, &list[i].Value, isPart) {
				return true
			}
		}
		return false
	}
	for i := range l.values {
		if l.equal(rec, v, &l.values[i], isPart) {
			return true
		}
	}
	return false
}

func (l *leaf) equal(rec *record.Record, v *record.Value, to *value, isPart bool) bool {
	if isPart && l.part.class == levelPart {
		s := record.Severity(v.Int64())
		return s >= to.severities[0] && s <= to.severities[1]
	}
	switch v.Type() {
	case record.TypeString, record.TypeBytes, record.TypeMap:
		return printed(v) == to.text
	default:
		if to.text != "true" && to.text != "false" {
			break
		}
		if n, ok := numberIn(v).bits(); ok && n <= 1 { // a declared attribute that is true or false is a number
			return (n == 1) == (to.text == "true")
		}
	}
	if to.number.kind != noNumber {
		n, m := l.numbers(rec, v, to, isPart)
		return n.kind != noNumber && n.compare(m) == 0
	}
	return printed(v) == to.text
}

// orders compares a severity with a level, which may be a range of severities: all of a range that is greater are.
func (to *value) orders(o operator, s record.Severity) bool {
	switch o {
	case opLess:
		return s < to.severities[0]
	case opLessOrEqual:
		return s <= to.severities[1]
	case opGreater:
		return s > to.severities[1]
	default:
		return s >= to.severities[0]
	}
}

// numberIn returns a number, also one that is written in a text. It is that of the value's JSON, so that records and recordings have the same:
// integers are written without a fraction, bytes are base64, and NaN and the infinities are texts.
func numberIn(v *record.Value) number {
	switch v.Type() {
	case record.TypeInt64:
		return intOf(v.Int64())
	case record.TypeUint64:
		return uintOf(v.Uint64())
	case record.TypeFloat64:
		switch f := v.Float64(); {
		case math.Abs(f) < 1<<53 && f == math.Trunc(f):
			return intOf(int64(f))
		case math.Abs(f) < 1<<53:
			return floatOf(f)
		}
		return parseNumber(printed(v))
	case record.TypeString:
		return parseNumber(v.Text())
	case record.TypeBytes:
		return parseNumber(printed(v))
	default:
		return number{}
	}
}
