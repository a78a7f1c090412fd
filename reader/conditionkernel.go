package reader

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/internal/condition"
	"github.com/userevents/userevents-go/tracepoint"
)

// field returns the bound of a comparison with a field of the tracepoint, which isPart says is a part of the record.
func (p *planner) field(l *leaf, f tracepoint.FormatField, isPart bool) bound {
	l.found.Store(true) // also if the kernel evaluates it for all records
	switch {
	case !isFilterName(f.Name), f.Pointer:
		return unknown
	case isNumber(f.Type) && f.Size == f.Type.Kind.Size() && (p.d.system != "syscalls" || !f.Type.Kind.Signed()): // all of these have no sign there
		if isPart && l.part.class != numberPart {
			return unknown
		}
		return numberField(l, f)
	case isText(f.Type) && f.Type.Location != tracepoint.Fixed && p.texts:
		return p.textField(l, f.Name, isPart)
	default:
		return unknown
	}
}

// isFilterName reports whether filters can have the name of a field, and mean this field.
func isFilterName(name string) bool {
	return !strings.HasPrefix(name, "common_") && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

func numberField(l *leaf, f tracepoint.FormatField) bound {
	if l.op == condition.Has {
		return always
	}
	_, most := limits(f)
	all := boundIf(l.op == condition.NotEqual)
	for i := range l.values {
		var b bound
		switch n := l.values[i].integer(); l.op {
		case condition.Glob, condition.Regexp:
			return unknown
		case condition.Mask:
			if bits, _ := n.Bits(); bits != 0 && condition.OfUint(bits).Compare(most) <= 0 {
				return filtered(fmt.Sprintf("%s & %#x", f.Name, bits))
			}
			return unknown
		default:
			b = numberBound(f, l.op, n)
		}
		if all = both(all, b, l.op == condition.NotEqual); !all.exact {
			return unknown
		}
	}
	return all
}

// both returns the bound of a && b, or of a || b. It is unknown if the filter is too long.
func both(a, b bound, and bool) bound {
	switch {
	case !a.exact || !b.exact || len(a.filter)+len(b.filter) > maxFilter-len(" && "):
		return unknown
	case and && (a.never || b.isAlways()) || !and && (b.never || a.isAlways()):
		return a
	case and && (b.never || a.isAlways()) || !and && (a.never || b.isAlways()):
		return b
	case and:
		return filtered(a.filter + " && " + b.filter)
	}
	return filtered(a.filter + " || " + b.filter)
}

func limits(f tracepoint.FormatField) (least, most condition.Number) {
	if f.Type.Kind.Signed() {
		return condition.OfInt(math.MinInt64 >> (64 - 8*f.Size)), condition.OfInt(math.MaxInt64 >> (64 - 8*f.Size))
	}
	return condition.OfInt(0), condition.OfUint(math.MaxUint64 >> (64 - 8*f.Size))
}

// integer returns the number that a value is for an integer: as leaf.equal compares it. Other values are none.
func (v *value) integer() condition.Number {
	switch n := condition.ParseNumber(v.Text); {
	case v.Text == "true":
		return condition.OfInt(1)
	case v.Text == "false":
		return condition.OfInt(0)
	case v.Quoted && n.Kind == condition.Int && strconv.FormatInt(n.Int, 10) == v.Text,
		v.Quoted && n.Kind == condition.Uint && strconv.FormatUint(n.Uint, 10) == v.Text:
		return n
	default:
		return v.Number
	}
}

// numberBound returns the bound of a comparison of an integer with a number. The kernel cuts numbers to the size of the field.
func numberBound(f tracepoint.FormatField, op condition.Op, n condition.Number) bound {
	least, most := limits(f)
	switch {
	case n.Kind == condition.None && op == condition.NotEqual:
		return always
	case n.Kind == condition.None:
		return never
	case n.Compare(least) < 0:
		return boundIf(op == condition.NotEqual || op == condition.Greater || op == condition.GreaterOrEqual)
	case n.Compare(most) > 0:
		return boundIf(op == condition.NotEqual || op == condition.Less || op == condition.LessOrEqual)
	case n.Kind != condition.Float:
	case n.Float == math.Trunc(n.Float) && math.Abs(n.Float) < 1<<53:
		n = condition.OfInt(int64(n.Float))
	case math.Abs(n.Float) >= 1<<53:
		return unknown
	case op == condition.Equal, op == condition.NotEqual:
		return boundIf(op == condition.NotEqual)
	case op == condition.Less, op == condition.GreaterOrEqual:
		n = condition.OfInt(int64(math.Ceil(n.Float)))
	default:
		n = condition.OfInt(int64(math.Floor(n.Float)))
	}
	bits, _ := n.Bits()
	if n.Kind == condition.Int {
		return filtered(fmt.Sprintf("%s %s %d", f.Name, op, int64(bits)))
	}
	return filtered(fmt.Sprintf("%s %s %d", f.Name, op, bits))
}

func boundIf(b bool) bound {
	if b {
		return always
	}
	return never
}

// textField returns the bound of a comparison with a text. This module's programs escape theirs, as conditions compare them. A record lacks
// a part that is empty.
func (p *planner) textField(l *leaf, field string, isPart bool) bound {
	present := filtered(field + ` != ""`)
	if l.op == condition.Has && isPart {
		return present
	} else if l.op == condition.Has {
		return always
	}
	all := boundIf(l.op == condition.NotEqual)
	for i := range l.values {
		text := l.values[i].Text
		if isPart && text == "" && l.op <= condition.NotEqual {
			continue // it is equal to no part
		}
		if isPart && l.part.class == idPart && l.op <= condition.NotEqual {
			text = l.values[i].digits
		}
		if all = both(all, p.textBound(l, field, text, isPart), l.op == condition.NotEqual); !all.exact {
			return unknown
		}
	}
	if isPart && (l.op == condition.NotEqual || l.op == condition.Glob && strings.Trim(l.values[0].Text, "*") == "") {
		return both(all, present, true)
	}
	return all
}

func (p *planner) textBound(l *leaf, field, text string, isPart bool) bound {
	pattern, op := text, l.op
	if isPart && l.part.class == idPart && op <= condition.NotEqual {
		if strings.Trim(text, "0") == "" {
			return unknown // the reader takes zeros for no id
		}
		if len(text) < 2*l.part.size {
			if op == condition.NotEqual {
				return unknown
			}
			pattern, op = text+"*", condition.Glob
		}
	}
	if op == condition.Glob && !strings.ContainsAny(pattern, `*?[\`) {
		op = condition.Equal
	}
	switch op {
	case condition.Equal, condition.NotEqual:
		if quoted, ok := quote(text); ok && isPrinted(text) {
			return filtered(field + " " + op.String() + " " + quoted)
		}
	case condition.Glob:
		if strings.ContainsAny(pattern, `?[\`) || !isPrinted(pattern) {
			return unknown
		}
		if first, rest, _ := strings.Cut(pattern, "*"); p.d.layout == nil && (first == "" || rest != "") {
			return unknown // the text is escaped when it is printed, and not in the record
		}
		if quoted, ok := quote(kernelPattern(pattern)); ok {
			return filtered(field + " ~ " + quoted)
		}
	default:
	}
	return unknown
}

// kernelPattern returns a pattern of asterisks and plain text as the kernel writes it. One that begins with a digit has no wildcards
// there, ! negates, and "*text" compares with what precedes the last byte.
func kernelPattern(pattern string) string {
	switch {
	case pattern[0] >= '0' && pattern[0] <= '9':
		return "[" + pattern[:1] + "]" + pattern[1:]
	case pattern[0] == '!':
		return `\` + pattern
	case pattern[0] == '*' && strings.Count(pattern, "*") == 1:
		return "*" + pattern
	}
	return pattern
}

func quote(s string) (string, bool) {
	for _, q := range []string{`"`, `'`} {
		if !strings.Contains(s, q) && len(s) <= maxFilterText {
			return q + s + q, true
		}
	}
	return "", false
}
