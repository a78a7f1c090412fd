package where

import (
	"fmt"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
)

// Plan says where a condition on the records of one tracepoint is evaluated. The results are the same everywhere.
type Plan struct {
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
func (c *Condition) Plan(d *record.Decoder, texts bool) Plan {
	if c == nil {
		return Plan{}
	}
	p := planner{d: d, texts: texts}
	b := p.plan(c.root, false)
	plan := Plan{Never: b.never, Kernel: b.filter}
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
	d     *record.Decoder
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
	kind, fixed := p.d.Kind()
	switch {
	case l.part != nil && (l.part.all || fixed && l.part.applies(kind)):
		return p.part(l, kind, fixed)
	case !fixed:
		return unknown
	}
	if l.where != inResource {
		if i := p.ownField(l.key); i >= 0 {
			return p.field(l, p.d.Format().Fields[i], false)
		}
	}
	if p.mayHaveAttribute(l) {
		return unknown
	}
	return never
}

func (p *planner) part(l *leaf, kind record.Kind, fixed bool) bound {
	d := p.d
	isMessage := l.part.name == "message" || l.part.name == "name"
	switch {
	case l.part.name == "kind" && fixed:
		return static(l, kind.String())
	case l.part.name == "event" && d.Format().Name != "":
		return static(l, d.Format().Name)
	case l.part.name == "system":
		return static(l, d.System())
	case l.part.isSeverity():
		return p.severity(l)
	case isMessage && d.Source() == record.SourceDeclared:
		return static(l, d.Registered())
	case !fixed || l.part.lifted || l.part.fields == nil, isMessage && (d.Source() == record.SourceOTelLog || d.Source() == record.SourceOTelDeclared):
		return unknown
	}
	i := slices.IndexFunc(d.Format().Fields, func(f tracepoint.FormatField) bool {
		return slices.Contains(l.part.fields, f.Name) && p.d.IsPart(f.Name)
	})
	if i < 0 {
		return never
	}
	return p.field(l, d.Format().Fields[i], true)
}

// static returns the bound of a comparison with what is the same in all records.
func static(l *leaf, s string) bound {
	if v := record.StringValue(s); l.op == opHas || l.holds(nil, &v, true) {
		return always
	}
	return never
}

// ownField returns the index of the field of an attribute, or -1.
func (p *planner) ownField(name string) int {
	found := -1
	for i, f := range p.d.Format().Fields {
		if (f.Name != name && !record.IsFieldOf(f.Name, name)) || p.d.IsPart(f.Name) {
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
	return slices.ContainsFunc(p.d.Format().Fields, func(f tracepoint.FormatField) bool {
		return (f.Name == "attributes" && l.where != inResource || f.Name == "resource" && l.where != inFields) && p.d.IsPart(f.Name) ||
			l.where != inResource && (f.Name == l.key || strings.HasPrefix(l.key, f.Name+".")) // that the kernel does not evaluate
	})
}

func (p *part) isSeverity() bool { return slices.Equal(p.fields, levelFields) }

// severity returns the bound of a comparison with the severity, which the name of a tracepoint can say, or a part of it.
func (p *planner) severity(l *leaf) bound {
	d := p.d
	holds := func(s record.Severity) bool {
		v := record.Int64Value(int64(s))
		return l.op == opHas || l.holds(nil, &v, true)
	}
	first, last, all := d.Severities()
	field := slices.IndexFunc(d.Format().Fields, func(f tracepoint.FormatField) bool {
		return slices.Contains(l.part.fields, f.Name) && p.d.IsPart(f.Name) && f.Type.IsInteger()
	})
	isHeader := d.Source() == record.SourceEventHeader
	if field < 0 && !isHeader {
		if _, one := d.Kind(); !one {
			return unknown
		}
		return never
	}
	slog := field >= 0 && d.Format().Fields[field].Name == "level"
	if slog && !d.Format().Fields[field].Type.Kind.Signed() {
		return unknown
	}
	var runs [][2]record.Severity
	for s := first; s <= last; s++ {
		switch n := len(runs); {
		case !holds(s):
		case n > 0 && runs[n-1][1] == s-1:
			runs[n-1][1] = s
		default:
			runs = append(runs, [2]record.Severity{s, s})
		}
	}
	switch {
	case len(runs) == 0:
		return never
	case all && runs[0] == [2]record.Severity{first, last}:
		return always
	case isHeader:
		return unknown
	}
	var filters []string
	for _, run := range runs {
		filters = append(filters, severityFilter(d.Format().Fields[field].Name, slog, run))
	}
	return filtered(strings.Join(filters, " || "))
}

// severityFilter returns the filter of a range of severities. Levels of slog beyond the severities have the first or the last one.
func severityFilter(field string, slog bool, run [2]record.Severity) string {
	offset := 0
	if slog {
		offset = int(record.SeverityInfo) // which is level 0 there
	}
	least := fmt.Sprintf("%s >= %d", field, int(run[0])-offset)
	most := fmt.Sprintf("%s <= %d", field, int(run[1])-offset)
	switch {
	case slog && run[1] == record.SeverityFatal+3:
		return least
	case slog && run[0] == record.SeverityTrace:
		return most
	}
	return least + " && " + most
}

// FieldOf returns the field of the tracepoint that has, in all its records, the value of a name of conditions as a number or a text, such
// that the kernel can evaluate it; false if there is none. The name may also be that of a field itself.
func FieldOf(d *record.Decoder, name string) (tracepoint.FormatField, bool) {
	p := planner{d: d}
	kind, one := d.Kind()
	if !one {
		return tracepoint.FormatField{}, false
	}
	fields := d.Format().Fields
	part, i := partOf[name], -1
	applies := part != nil && (part.kinds == nil || slices.Contains(part.kinds, kind))
	switch {
	case applies && !part.lifted:
		i = slices.IndexFunc(fields, func(f tracepoint.FormatField) bool {
			return slices.Contains(part.fields, f.Name) && d.IsPart(f.Name)
		})
	case !applies:
		i = p.ownField(name)
	}
	if i < 0 && (part == nil || slices.Contains(part.fields, name)) {
		i = slices.IndexFunc(fields, func(f tracepoint.FormatField) bool { return f.Name == name })
	}
	if i < 0 || !isFilterName(fields[i].Name) {
		return tracepoint.FormatField{}, false
	}
	return fields[i], true
}
