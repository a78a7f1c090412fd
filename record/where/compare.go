package where

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/userevents/userevents-go/internal/cgroup"
	"github.com/userevents/userevents-go/record"
)

func newLeaf(name string) *leaf {
	l := &leaf{name: name, key: name, part: partOf[name]}
	if key, ok := strings.CutPrefix(name, "fields."); ok {
		l.key, l.where = key, inFields
	} else if key, ok := strings.CutPrefix(name, "resource."); ok {
		l.key, l.where = key, inResource
	}
	return l
}

// complete checks the values of a comparison, which begins at an offset of the text and ends here, and prepares them.
func (p *parser) complete(l *leaf, at int) (node, error) {
	l.text = strings.TrimSpace(p.text[at:p.at])
	p.leaves = append(p.leaves, l)
	if l.op == opHas {
		return l, nil
	}
	for i := range l.values {
		if err := p.check(l, &l.values[i]); err != nil {
			return nil, err
		}
	}
	first := &l.values[0]
	if first.text == "" && l.part != nil && l.part.class == textPart && len(l.values) == 1 && l.op <= opNotEqual {
		// A part that is empty is one that the record lacks.
		lacks := l.op == opEqual
		if l.op = opHas; lacks {
			return not{l}, nil
		}
		return l, nil
	}
	var err error
	switch l.op {
	case opRegexp:
		if l.expr, err = regexp.Compile(first.text); err != nil {
			return nil, p.fail(first.at, "%v", err)
		}
	case opGlob:
		if l.pattern, err = compileGlob(first.text); err != nil {
			return nil, p.fail(first.at, "%v", err)
		}
	default:
	}
	return l, nil
}

func (p *parser) check(l *leaf, v *value) error {
	class := attributePart
	if l.part != nil {
		class = l.part.class
	}
	text := l.op == opGlob || l.op == opRegexp
	sized := l.op >= opLess && l.op <= opGreaterOrEqual || l.op == opMask
	if v.number.isDuration {
		v.time, v.isTime = time.Duration(v.number.int64), true
	}
	switch {
	case sized && slices.Contains([]string{"time", "timestamp", "observed", "monotonic_ns"}, l.name):
		return p.fail(v.at, "conditions do not compare times of records")
	case text && (class == levelPart || class == idPart && l.op == opRegexp):
		return p.fail(v.at, "%s is compared with == != < and so on, not with %s", l.name, l.op)
	case text:
		return nil
	case class == levelPart:
		return p.checkLevel(l, v)
	case class == idPart:
		return p.checkID(l, v)
	case sized && class != numberPart && class != attributePart:
		return p.fail(v.at, "%s is no number: it is compared with == != ~ or =~, not with %s", l.name, l.op)
	case class == choicePart:
		return p.checkChoice(l, v)
	case l.name == "unit" && v.text != "" && !cgroup.IsUnit(v.text) && cgroup.IsUnit(v.text+".service"):
		v.text += ".service" // as systemctl takes a name without a type
	case v.number.isDuration:
		l.inUnit(&v.number)
	}
	if _, whole := v.number.bits(); l.op == opMask && !whole {
		return p.fail(v.at, "& takes an integer")
	}
	if (sized || class == numberPart) && v.number.kind == noNumber {
		return p.fail(v.at, "%q is no number that %s can be compared with", v.text, l.name)
	}
	return nil
}

// unitOf returns a unit of time, such as that of a metric; 0 if it is none.
func unitOf(name string) time.Duration {
	return map[string]time.Duration{"ns": 1, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "seconds": time.Second}[name]
}

func (l *leaf) inUnit(n *number) {
	if unit := int64(unitOf(l.key[strings.LastIndexByte(l.key, '_')+1:])); unit != 0 {
		if n.int64%unit == 0 {
			*n = intOf(n.int64 / unit)
		} else {
			*n = floatOf(float64(n.int64) / float64(unit))
		}
	}
}

func (p *parser) checkLevel(l *leaf, v *value) error {
	s, err := record.ParseSeverity(v.text)
	if err != nil {
		return p.fail(v.at, "%q is none of trace, debug, info, warn, error and fatal; severity_number is compared with numbers", v.text)
	}
	if v.severities = [2]record.Severity{s, s}; !strings.ContainsAny(v.text, "1234") {
		v.severities[1] = s + 3
	}
	if l.op == opMask {
		return p.fail(v.at, "%s has no bits", l.name)
	}
	return nil
}

func (p *parser) checkID(l *leaf, v *value) error {
	v.digits = strings.ToLower(v.text)
	digits := 2 * l.part.size
	switch {
	case l.op > opNotEqual:
		return p.fail(v.at, "%s is compared with == or !=, not with %s", l.name, l.op)
	case v.text == "" || len(v.text) > digits || strings.Trim(v.digits, "0123456789abcdef") != "":
		return p.fail(v.at, "%q is no %s, nor the beginning of one: it has %d hexadecimal digits; an attribute is fields.%s", v.text, l.name, digits, l.name)
	}
	return nil
}

func (p *parser) checkChoice(l *leaf, v *value) error {
	choice := strings.ReplaceAll(strings.ToLower(v.text), "_", " ")
	if !slices.Contains(l.part.choices, choice) {
		return p.fail(v.at, "%s is none of %s", v.text, strings.Join(l.part.choices, ", "))
	}
	v.text = choice
	return nil
}

// globPattern is a pattern of whole texts: * is any text, ? a character, [a-z] and [!a-z] one of a class, and a backslash makes the
// next character stand for itself.
type globPattern struct {
	pieces []string       // what is between the asterisks, if these are all it has
	expr   *regexp.Regexp // else
}

var errPattern = errors.New("a pattern with [ needs ], and one with a backslash a character behind it")

func compileGlob(pattern string) (*globPattern, error) {
	if !strings.ContainsAny(pattern, `?[\`) {
		return &globPattern{pieces: strings.Split(pattern, "*")}, nil
	}
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for rest := pattern; rest != ""; {
		c, size := utf8.DecodeRuneInString(rest)
		literal := rest[:size]
		rest = rest[size:]
		switch c {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteByte('.')
		case '\\':
			if rest == "" {
				return nil, errPattern
			}
			_, size := utf8.DecodeRuneInString(rest)
			b.WriteString(regexp.QuoteMeta(rest[:size]))
			rest = rest[size:]
		case '[':
			class, after, ok := cutClass(rest)
			if !ok {
				return nil, errPattern
			}
			b.WriteString(class)
			rest = after
		default:
			b.WriteString(regexp.QuoteMeta(literal))
		}
	}
	b.WriteString(`\z`)
	expr, err := regexp.Compile(b.String())
	return &globPattern{expr: expr}, err
}

// cutClass returns the regular expression of a class, and what follows it. A ] that comes first belongs to it.
func cutClass(s string) (class, after string, ok bool) {
	negated := ""
	if s != "" && (s[0] == '!' || s[0] == '^') {
		negated, s = "^", s[1:]
	}
	if s == "" {
		return "", "", false
	}
	_, first := utf8.DecodeRuneInString(s)
	end := strings.IndexByte(s[first:], ']')
	if end < 0 {
		return "", "", false
	}
	members := strings.NewReplacer(`\`, `\\`, `[`, `\[`, `]`, `\]`, `^`, `\^`).Replace(s[:first+end])
	return "[" + negated + members + "]", s[first+end+1:], true
}

func (p *globPattern) match(s string) bool {
	if p.expr != nil {
		return p.expr.MatchString(s)
	}
	first, last := p.pieces[0], p.pieces[len(p.pieces)-1]
	if len(p.pieces) == 1 {
		return s == first
	}
	if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
		return false
	}
	s = s[len(first) : len(s)-len(last)]
	for _, piece := range p.pieces[1 : len(p.pieces)-1] {
		i := strings.Index(s, piece)
		if i < 0 {
			return false
		}
		s = s[i+len(piece):]
	}
	return true
}
