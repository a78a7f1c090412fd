package reader

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/userevents/userevents-go/internal/cgroup"
	"github.com/userevents/userevents-go/internal/condition"
)

func (c *Condition) fail(at int, format string, args ...any) error {
	return &condition.Error{Text: c.text, At: at, Problem: fmt.Sprintf(format, args...)}
}

func newLeaf(name string) *leaf {
	l := &leaf{name: name, key: name, part: partOf[name]}
	if key, ok := strings.CutPrefix(name, "fields."); ok {
		l.key, l.where = key, inFields
	} else if key, ok := strings.CutPrefix(name, "resource."); ok {
		l.key, l.where = key, inResource
	}
	return l
}

// compare gives the name of a comparison its values, and checks what it is compared with.
func (c *Condition) compare(x *condition.Compare) (node, error) {
	l := newLeaf(x.Name.Text)
	l.op, l.text = x.Op, strings.TrimSpace(c.text[x.Name.At:x.End])
	c.leaves = append(c.leaves, l)
	if l.op == condition.Has {
		return l, nil
	}
	for _, v := range x.Values {
		compared := value{Value: v}
		if err := c.check(l, &compared); err != nil {
			return nil, err
		}
		l.values = append(l.values, compared)
	}
	first := &l.values[0]
	if first.Text == "" && l.part != nil && l.part.class == textPart && len(l.values) == 1 && l.op <= condition.NotEqual {
		// A part that is empty is one that the record lacks.
		lacks := l.op == condition.Equal
		if l.op = condition.Has; lacks {
			return not{l}, nil
		}
		return l, nil
	}
	var err error
	switch l.op {
	case condition.Regexp:
		if l.expr, err = regexp.Compile(first.Text); err != nil {
			return nil, c.fail(first.At, "%v", err)
		}
	case condition.Glob:
		if l.pattern, err = compileGlob(first.Text); err != nil {
			return nil, c.fail(first.At, "%v", err)
		}
	default:
	}
	return l, nil
}

func (c *Condition) check(l *leaf, v *value) error {
	class := attributePart
	if l.part != nil {
		class = l.part.class
	}
	text := l.op == condition.Glob || l.op == condition.Regexp
	sized := l.op >= condition.Less && l.op <= condition.GreaterOrEqual || l.op == condition.Mask
	if v.Number.Duration {
		v.time, v.isTime = time.Duration(v.Number.Int), true
	}
	switch {
	case sized && slices.Contains([]string{"time", "timestamp", "observed", "monotonic_ns"}, l.name):
		return c.fail(v.At, "conditions do not compare times of records")
	case text && (class == levelPart || class == idPart && l.op == condition.Regexp):
		return c.fail(v.At, "%s is compared with == != < and so on, not with %s", l.name, l.op)
	case text:
		return nil
	case class == levelPart:
		return c.checkLevel(l, v)
	case class == idPart:
		return c.checkID(l, v)
	case sized && class != numberPart && class != attributePart:
		return c.fail(v.At, "%s is no number: it is compared with == != ~ or =~, not with %s", l.name, l.op)
	case class == choicePart:
		return c.checkChoice(l, v)
	case l.name == "unit" && v.Text != "" && !cgroup.IsUnit(v.Text) && cgroup.IsUnit(v.Text+".service"):
		v.Text += ".service" // as systemctl takes a name without a type
	case v.Number.Duration:
		l.inUnit(&v.Number)
	}
	if _, whole := v.Number.Bits(); l.op == condition.Mask && !whole {
		return c.fail(v.At, "& takes an integer")
	}
	if (sized || class == numberPart) && v.Number.Kind == condition.None {
		return c.fail(v.At, "%q is no number that %s can be compared with", v.Text, l.name)
	}
	return nil
}

// unitOf returns a unit of time, such as that of a metric; 0 if it is none.
func unitOf(name string) time.Duration {
	return map[string]time.Duration{"ns": 1, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second, "seconds": time.Second}[name]
}

func (l *leaf) inUnit(n *condition.Number) {
	if unit := int64(unitOf(l.key[strings.LastIndexByte(l.key, '_')+1:])); unit != 0 {
		if n.Int%unit == 0 {
			*n = condition.OfInt(n.Int / unit)
		} else {
			*n = condition.OfFloat(float64(n.Int) / float64(unit))
		}
	}
}

func (c *Condition) checkLevel(l *leaf, v *value) error {
	s, err := ParseSeverity(v.Text)
	if err != nil {
		return c.fail(v.At, "%q is none of trace, debug, info, warn, error and fatal; severity_number is compared with numbers", v.Text)
	}
	if v.severities = [2]Severity{s, s}; !strings.ContainsAny(v.Text, "1234") {
		v.severities[1] = s + 3
	}
	if l.op == condition.Mask {
		return c.fail(v.At, "%s has no bits", l.name)
	}
	return nil
}

func (c *Condition) checkID(l *leaf, v *value) error {
	v.digits = strings.ToLower(v.Text)
	digits := 2 * l.part.size
	switch {
	case l.op > condition.NotEqual:
		return c.fail(v.At, "%s is compared with == or !=, not with %s", l.name, l.op)
	case v.Text == "" || len(v.Text) > digits || strings.Trim(v.digits, "0123456789abcdef") != "":
		return c.fail(v.At, "%q is no %s, nor the beginning of one: it has %d hexadecimal digits; an attribute is fields.%s", v.Text, l.name, digits, l.name)
	}
	return nil
}

func (c *Condition) checkChoice(l *leaf, v *value) error {
	choice := strings.ReplaceAll(strings.ToLower(v.Text), "_", " ")
	if !slices.Contains(l.part.choices, choice) {
		return c.fail(v.At, "%s is none of %s", v.Text, strings.Join(l.part.choices, ", "))
	}
	v.Text = choice
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
