package where

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
)

// field returns the bound of a comparison with a field of the tracepoint, which isPart says is a part of the record.
func (p *planner) field(l *leaf, f tracepoint.FormatField, isPart bool) bound {
	l.found.Store(true) // also if the kernel evaluates it for all records
	switch {
	case !isFilterName(f.Name), f.Pointer:
		return unknown
	case f.Type.IsInteger() && f.Size == f.Type.Kind.Size() && (p.d.System() != "syscalls" || !f.Type.Kind.Signed()): // all of these have no sign there
		if isPart && l.part.class != numberPart {
			return unknown
		}
		return numberField(l, f)
	case f.Type.IsText() && f.Type.Location != tracepoint.Fixed && p.texts:
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
	if l.op == opHas {
		return always
	}
	_, most := limits(f)
	all := boundIf(l.op == opNotEqual)
	for i := range l.values {
		var b bound
		switch n := l.values[i].integer(); l.op {
		case opGlob, opRegexp:
			return unknown
		case opMask:
			if bits, _ := n.bits(); bits != 0 && uintOf(bits).compare(most) <= 0 {
				return filtered(fmt.Sprintf("%s & %#x", f.Name, bits))
			}
			return unknown
		default:
			b = numberBound(f, l.op, n)
		}
		if all = both(all, b, l.op == opNotEqual); !all.exact {
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

func limits(f tracepoint.FormatField) (least, most number) {
	if f.Type.Kind.Signed() {
		return intOf(math.MinInt64 >> (64 - 8*f.Size)), intOf(math.MaxInt64 >> (64 - 8*f.Size))
	}
	return intOf(0), uintOf(math.MaxUint64 >> (64 - 8*f.Size))
}

// integer returns the number that a value is for an integer: as leaf.equal compares it. Other values are none.
func (v *value) integer() number {
	switch n := parseNumber(v.text); {
	case v.text == "true":
		return intOf(1)
	case v.text == "false":
		return intOf(0)
	case v.quoted && n.kind == intNumber && strconv.FormatInt(n.int64, 10) == v.text,
		v.quoted && n.kind == uintNumber && strconv.FormatUint(n.uint64, 10) == v.text:
		return n
	default:
		return v.number
	}
}

// numberBound returns the bound of a comparison of an integer with a number. The kernel cuts numbers to the size of the field.
func numberBound(f tracepoint.FormatField, op operator, n number) bound {
	least, most := limits(f)
	switch {
	case n.kind == noNumber && op == opNotEqual:
		return always
	case n.kind == noNumber:
		return never
	case n.compare(least) < 0:
		return boundIf(op == opNotEqual || op == opGreater || op == opGreaterOrEqual)
	case n.compare(most) > 0:
		return boundIf(op == opNotEqual || op == opLess || op == opLessOrEqual)
	case n.kind != floatNumber:
	case n.float64 == math.Trunc(n.float64) && math.Abs(n.float64) < 1<<53:
		n = intOf(int64(n.float64))
	case math.Abs(n.float64) >= 1<<53:
		return unknown
	case op == opEqual, op == opNotEqual:
		return boundIf(op == opNotEqual)
	case op == opLess, op == opGreaterOrEqual:
		n = intOf(int64(math.Ceil(n.float64)))
	default:
		n = intOf(int64(math.Floor(n.float64)))
	}
	bits, _ := n.bits()
	if n.kind == intNumber {
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
	if l.op == opHas && isPart {
		return present
	} else if l.op == opHas {
		return always
	}
	all := boundIf(l.op == opNotEqual)
	for i := range l.values {
		text := l.values[i].text
		if isPart && text == "" && l.op <= opNotEqual {
			continue // it is equal to no part
		}
		if isPart && l.part.class == idPart && l.op <= opNotEqual {
			text = l.values[i].digits
		}
		if all = both(all, p.textBound(l, field, text, isPart), l.op == opNotEqual); !all.exact {
			return unknown
		}
	}
	if isPart && (l.op == opNotEqual || l.op == opGlob && strings.Trim(l.values[0].text, "*") == "") {
		return both(all, present, true)
	}
	return all
}

func (p *planner) textBound(l *leaf, field, text string, isPart bool) bound {
	pattern, op := text, l.op
	if isPart && l.part.class == idPart && op <= opNotEqual {
		if strings.Trim(text, "0") == "" {
			return unknown // the reader takes zeros for no id
		}
		if len(text) < 2*l.part.size {
			if op == opNotEqual {
				return unknown
			}
			pattern, op = text+"*", opGlob
		}
	}
	if op == opGlob && !strings.ContainsAny(pattern, `*?[\`) {
		op = opEqual
	}
	switch op {
	case opEqual, opNotEqual:
		if quoted, ok := quote(text); ok && isPrinted(text) {
			return filtered(field + " " + op.String() + " " + quoted)
		}
	case opGlob:
		if strings.ContainsAny(pattern, `?[\`) || !isPrinted(pattern) {
			return unknown
		}
		if first, rest, _ := strings.Cut(pattern, "*"); p.d.Source() == record.SourceUnknown && (first == "" || rest != "") {
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
