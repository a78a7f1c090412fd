package reader

import (
	"fmt"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/internal/condition"
	"github.com/userevents/userevents-go/tracepoint"
)

// ConditionPlan says where a condition on the records of one tracepoint is evaluated. The results are the same everywhere.
type ConditionPlan struct {
	// Never is set if no record of the tracepoint can match: a Reader does not attach to it.
	Never bool
	// Kernel is the part that the kernel evaluates, as its filters write it; empty if it evaluates nothing. Records that do not match
	// it are not recorded.
	Kernel string
	// Reader are the comparisons that are left to the reader, which decodes the records; none if the kernel evaluates all.
	Reader []string
}

// Plan returns where the condition is evaluated on the records of a decoder's tracepoint. Kernels before Linux 6.4 evaluate no texts.
// Programs in shared memory have no kernel: the reader evaluates all.
func (c *Condition) Plan(d *Decoder, texts bool) ConditionPlan {
	p := planner{d: d, texts: texts}
	b := p.plan(c.root, false)
	plan := ConditionPlan{Never: b.never, Kernel: b.filter}
	if !b.exact {
		said := map[string]bool{}
		for _, l := range p.left {
			if !said[l.text] {
				said[l.text] = true
				plan.Reader = append(plan.Reader, l.text)
			}
		}
		if len(plan.Reader) == 0 { // of a filter that is too long
			plan.Reader = []string{c.text}
		}
	}
	return plan
}

// Limits of the kernel: those of strndup_user in perf's ioctl and MAX_FILTER_STR_VAL.
const (
	maxFilter     = 4095
	maxFilterText = 255
)

// bound is what is known of an expression for all records of a tracepoint.
type bound struct {
	never  bool
	filter string // which all records meet that match; empty if there is none
	exact  bool   // those that meet it match; all if it is empty
}

var (
	unknown = bound{}
	always  = bound{exact: true}
	never   = bound{never: true, exact: true}
)

func (b bound) isAlways() bool { return b.exact && !b.never && b.filter == "" }

// filtered returns the bound of what the kernel evaluates as a whole.
func filtered(filter string) bound { return bound{filter: filter, exact: true} }

type planner struct {
	d     *Decoder
	texts bool
	left  []*leaf // that the kernel does not evaluate
}

func (p *planner) plan(n node, negated bool) bound {
	switch n := n.(type) {
	case not:
		return p.plan(n.x, !negated)
	case and:
		return p.join(n.x, n.y, negated, negated)
	case or:
		return p.join(n.x, n.y, negated, !negated)
	}
	l := n.(*leaf)
	b := p.leaf(l)
	if negated {
		b = b.negate()
	}
	if !b.exact {
		p.left = append(p.left, l)
	}
	return b
}

func (b bound) negate() bound {
	switch {
	case b.never:
		return always
	case b.isAlways():
		return never
	case b.exact && len(b.filter) <= maxFilter-len("!()"):
		return filtered("!(" + b.filter + ")")
	}
	return unknown
}

func (p *planner) join(x, y node, negated, either bool) bound {
	left := len(p.left)
	a, b := p.plan(x, negated), p.plan(y, negated)
	switch {
	case either && (a.isAlways() || b.isAlways()), !either && (a.never || b.never):
		p.left = p.left[:left] // does not matter
		if either {
			return always
		}
		return never
	case a.never || !either && a.isAlways():
		return b
	case b.never || !either && b.isAlways():
		return a
	}
	joined := bound{exact: a.exact && b.exact}
	switch {
	case either && a.filter != "" && b.filter != "":
		joined.filter = parenthesised(a.filter) + " || " + parenthesised(b.filter)
	case either: // one of them can be any record
	case a.filter != "" && b.filter != "":
		joined.filter = parenthesised(a.filter) + " && " + parenthesised(b.filter)
	default:
		joined.filter = a.filter + b.filter
	}
	switch {
	case len(joined.filter) <= maxFilter:
		return joined
	case either:
		return unknown
	}
	return bound{filter: a.filter} // what meets both meets this
}

func parenthesised(filter string) string {
	if strings.Contains(filter, " || ") || strings.Contains(filter, " && ") {
		return "(" + filter + ")"
	}
	return filter
}

func (p *planner) leaf(l *leaf) bound {
	kind, fixed := p.kind()
	switch {
	case l.part != nil && (l.part.all || fixed && l.part.applies(kind)):
		return p.part(l, kind, fixed)
	case !fixed:
		return unknown
	}
	if l.where != inResource {
		if i := p.ownField(l.key); i >= 0 {
			return p.field(l, p.d.format.Fields[i], false)
		}
	}
	if p.mayHaveAttribute(l) {
		return unknown
	}
	return never
}

func (p *planner) part(l *leaf, kind Kind, fixed bool) bound {
	d := p.d
	isMessage := l.part.name == "message" || l.part.name == "name"
	switch {
	case l.part.name == "kind" && fixed:
		return static(l, kind.String())
	case l.part.name == "event" && d.name != "":
		return static(l, d.name)
	case l.part.name == "system":
		return static(l, d.system)
	case l.part.isSeverity():
		return p.severity(l)
	case isMessage && d.layout == slogDeclared:
		return static(l, d.registered)
	case !fixed || l.part.lifted || l.part.fields == nil, isMessage && (d.layout == otelLog || d.layout == otelDeclared):
		return unknown
	}
	i := slices.IndexFunc(d.format.Fields, func(f tracepoint.FormatField) bool {
		return slices.Contains(l.part.fields, f.Name) && p.isPart(f.Name)
	})
	if i < 0 {
		return never
	}
	return p.field(l, d.format.Fields[i], true)
}

// static returns the bound of a comparison with what is the same in all records.
func static(l *leaf, s string) bound {
	if v := StringValue(s); l.op == condition.Has || l.holds(nil, &v, true) {
		return always
	}
	return never
}

// kind returns the kind of all records, and false if they can be of several.
func (p *planner) kind() (Kind, bool) {
	switch l := p.d.layout; {
	case p.d.isHeader || l != nil && l.applies != nil:
		return KindOther, false
	case l == nil:
		return KindOther, true
	default:
		return l.kind, true
	}
}

// wantsKind reports whether the options select an event by the kind of its records.
func (o *Options) wantsKind(d *Decoder) bool {
	kind, ok := (&planner{d: d}).kind()
	return o.Kinds == nil || !ok || slices.Contains(o.Kinds, kind)
}

// isPart reports whether a field is a part of the record, and no attribute.
func (p *planner) isPart(field string) bool {
	if p.d.layout == nil {
		return false
	}
	_, ok := p.d.layout.fields[field]
	return ok
}

// ownField returns the index of the field of an attribute, or -1.
func (p *planner) ownField(name string) int {
	found := -1
	for i, f := range p.d.format.Fields {
		if (f.Name != name && !isFieldOf(f.Name, name)) || p.isPart(f.Name) {
			continue
		}
		if found >= 0 {
			return -1 // the kernel means the last one
		}
		found = i
	}
	return found
}

// mayHaveAttribute reports whether records may have a name that is no field.
func (p *planner) mayHaveAttribute(l *leaf) bool {
	return slices.ContainsFunc(p.d.format.Fields, func(f tracepoint.FormatField) bool {
		return (f.Name == "attributes" && l.where != inResource || f.Name == "resource" && l.where != inFields) && p.isPart(f.Name) ||
			l.where != inResource && (f.Name == l.key || strings.HasPrefix(l.key, f.Name+".")) // that the kernel does not evaluate
	})
}

func (p *part) isSeverity() bool { return slices.Equal(p.fields, levelFields) }

// severity returns the bound of a comparison with the severity, which the name of a tracepoint can say, or a part of it.
func (p *planner) severity(l *leaf) bound {
	d := p.d
	holds := func(s Severity) bool {
		v := Int64Value(int64(s))
		return l.op == condition.Has || l.holds(nil, &v, true)
	}
	first, last := d.severities()
	field := slices.IndexFunc(d.format.Fields, func(f tracepoint.FormatField) bool {
		return slices.Contains(l.part.fields, f.Name) && p.isPart(f.Name) && isNumber(f.Type)
	})
	if field < 0 && !d.isHeader {
		if d.layout != nil && d.layout.applies != nil {
			return unknown
		}
		return never
	}
	slog := field >= 0 && d.format.Fields[field].Name == "level"
	if slog && !d.format.Fields[field].Type.Kind.Signed() {
		return unknown
	}
	var runs [][2]Severity
	for s := first; s <= last; s++ {
		switch n := len(runs); {
		case !holds(s):
		case n > 0 && runs[n-1][1] == s-1:
			runs[n-1][1] = s
		default:
			runs = append(runs, [2]Severity{s, s})
		}
	}
	switch {
	case len(runs) == 0:
		return never
	case slog && runs[0] == [2]Severity{first, last}:
		return always
	case d.isHeader:
		return unknown
	}
	var filters []string
	for _, run := range runs {
		filters = append(filters, severityFilter(d.format.Fields[field].Name, slog, run))
	}
	return filtered(strings.Join(filters, " || "))
}

// severityFilter returns the filter of a range of severities. Levels of slog beyond the severities have the first or the last one.
func severityFilter(field string, slog bool, run [2]Severity) string {
	offset := 0
	if slog {
		offset = slogOffset
	}
	least := fmt.Sprintf("%s >= %d", field, int(run[0])-offset)
	most := fmt.Sprintf("%s <= %d", field, int(run[1])-offset)
	switch {
	case slog && run[1] == maxSeverity:
		return least
	case slog && run[0] == SeverityTrace:
		return most
	}
	return least + " && " + most
}

// severities returns the range of severities that the records of a tracepoint have, as far as its name says. The adapters of this module
// have an event for each range of levels. Records of EventHeader may have a severity of their own, which is in the range of their level, or
// none.
func (d *Decoder) severities() (first, last Severity) {
	if d.isHeader {
		switch s := severityOfHeader(d.header.Level); s {
		case SeverityTrace, SeverityDebug:
			return SeverityTrace, SeverityInfo - 1
		case SeverityInfo, SeverityWarn:
			return SeverityTrace, s + 3
		}
		return SeverityTrace, maxSeverity
	}
	for _, l := range levelSuffixes {
		if (d.layout == slogLevel || d.layout == otelLog) && strings.HasSuffix(d.registered, l.suffix) {
			return l.first, l.last
		}
	}
	return SeverityTrace, maxSeverity
}

// levelSuffixes are the suffixes of events with a range of levels, and the severities of the range.
var levelSuffixes = []struct {
	suffix      string
	first, last Severity
}{
	{"_debug", SeverityTrace, SeverityInfo - 1},
	{"_info", SeverityInfo, SeverityWarn - 1},
	{"_warn", SeverityWarn, SeverityError - 1},
	{"_error", SeverityError, maxSeverity},
}
