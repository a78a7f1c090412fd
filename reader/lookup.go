package reader

import (
	"slices"

	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

// find returns the value of a field, or of a member of a group: db.table is the member table of the map db. A field whose name has other
// characters has _ in their place where a program declared it: http.route finds http_route, and the other way round.
func find(fields []Field, name string) (Value, bool) {
	if v, ok := lookup(fields, name); ok {
		return v, true
	}
	for i := len(fields) - 1; i >= 0; i-- { //nolint:modernize // Backward copies each Field, which is large
		if declaredAs(fields[i].Name, name) {
			return fields[i].Value, true
		}
	}
	for i := range name {
		if name[i] != '.' || i == 0 {
			continue
		}
		if v, ok := lookup(fields, name[:i]); ok && v.typ == TypeMap {
			if v, ok := find(v.list, name[i+1:]); ok {
				return v, true
			}
		}
	}
	return Value{}, false
}

// declaredAs reports whether one of two different names is the name of the field that the other is declared with.
func declaredAs(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if a[i] != b[i] && a[i] != '_' && b[i] != '_' {
			return false
		}
	}
	return typedfield.FieldName(a) == b || typedfield.FieldName(b) == a
}

// Value returns the value of a name of conditions, and whether the record has it: of a part of the record, of an attribute, or of an
// attribute of the resource. The Event was decoded with DecodeFull. A level is the name of a severity.
func (ev *Event) Value(name string) (Value, bool) { return ValueOf(name)(ev) }

// ValueOf returns [Event.Value] of a name, for many events.
func ValueOf(name string) func(*Event) (Value, bool) {
	if name == "level" || name == "severity" {
		return func(ev *Event) (Value, bool) { return textValue(severityName(ev.Severity)), ev.Severity != 0 }
	}
	l := newLeaf(name)
	return func(ev *Event) (Value, bool) {
		v := l.of(ev)
		return v, v.typ != TypeNull
	}
}

func severityName(s Severity) string {
	if s == 0 {
		return ""
	}
	return s.String()
}

// FieldOf returns the field of the tracepoint that has, in all its records, the value of a name of conditions as a number or a text, such
// that the kernel can evaluate it; false if there is none. The name may also be that of a field itself.
func (d *Decoder) FieldOf(name string) (tracepoint.FormatField, bool) {
	p := planner{d: d}
	if d.isHeader || d.layout != nil && d.layout.applies != nil {
		return tracepoint.FormatField{}, false
	}
	kind, _ := p.kind()
	part, i := partOf[name], -1
	applies := part != nil && (part.kinds == nil || slices.Contains(part.kinds, kind))
	switch {
	case applies && !part.lifted:
		i = slices.IndexFunc(d.format.Fields, func(f tracepoint.FormatField) bool {
			return slices.Contains(part.fields, f.Name) && p.isPart(f.Name)
		})
	case !applies:
		i = p.ownField(name)
	}
	if i < 0 && (part == nil || slices.Contains(part.fields, name)) {
		i = slices.IndexFunc(d.format.Fields, func(f tracepoint.FormatField) bool { return f.Name == name })
	}
	if i < 0 || !isFilterName(d.format.Fields[i].Name) {
		return tracepoint.FormatField{}, false
	}
	return d.format.Fields[i], true
}

// SeverityOf returns the severity that a number in the field of a level stands for: the one that FieldOf returns for level.
func SeverityOf(f tracepoint.FormatField, n int64) Severity {
	if f.Name == "level" {
		return severityOfSlog(n)
	}
	return Severity(min(max(n, 0), int64(maxSeverity)))
}
