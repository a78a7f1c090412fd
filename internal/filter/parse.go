package filter

import (
	"fmt"
	"strings"

	"github.com/userevents/userevents-go/internal/errno"
)

// Limits of the kernel: strndup_user in perf's ioctl and event_filter_write, MAX_FILTER_STR_VAL, num_buf in parse_pred.
const (
	maxText    = 4095
	maxPattern = 255
	maxNumber  = 23
)

// Tree is the syntax tree of a filter.
type Tree struct {
	Text string
	Root Expr
}

// Expr is [And], [Or], [Not] or a [*Comparison].
type Expr any

// And holds if both operands do.
type And struct{ X, Y Expr }

// Or holds if one of its operands does.
type Or struct{ X, Y Expr }

// Not holds if its operand does not.
type Not struct{ X Expr }

// Comparison compares a field with a number or, if Quoted, with text.
type Comparison struct {
	Field   string
	Op      Op
	Value   string // without the quotes
	Quoted  bool
	FieldAt int // offset of the name in the text of the filter
	ValueAt int // offset of the value
}

// Op is the operator of a comparison.
type Op uint8

// The kernel's operators.
const (
	Glob Op = iota // text matches a pattern
	NotEqual
	Equal
	LessOrEqual
	Less
	GreaterOrEqual
	Greater
	Mask // a bit of the number is set
)

// operators are in the order in which the kernel tries them.
var operators = [...]string{
	Glob: "~", NotEqual: "!=", Equal: "==", LessOrEqual: "<=", Less: "<", GreaterOrEqual: ">=", Greater: ">", Mask: "&",
}

// Error says where and why a filter is refused. It wraps EINVAL, as the kernel's answer does.
type Error struct {
	Text    string // of the filter
	At      int    // offset in the text
	Problem string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s, at byte %d of %q: %v", e.Problem, e.At+1, e.Text, e.Unwrap())
}

// Unwrap returns EINVAL.
func (e *Error) Unwrap() error { return errno.EINVAL }

// Parse reads a filter. The error is an [*Error].
func Parse(text string) (*Tree, error) {
	p := parser{text: text}
	if len(text) > maxText {
		return nil, p.fail(maxText, "the filter has more than %d bytes", maxText)
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		return nil, p.fail(i, "a filter has no NUL")
	}
	root, err := p.or()
	if err != nil {
		return nil, err
	}
	switch {
	case p.take(")"):
		return nil, p.fail(p.at-1, ") without (")
	case p.at < len(text):
		return nil, p.fail(p.at, "&& or || expected")
	}
	return &Tree{Text: text, Root: root}, nil
}

type parser struct {
	text string
	at   int
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &Error{Text: p.text, At: at, Problem: fmt.Sprintf(format, args...)}
}

// next reports whether the text goes on with a token.
func (p *parser) next(token string) bool { return strings.HasPrefix(p.text[p.at:], token) }

// skip skips the token if it is next.
func (p *parser) skip(token string) bool {
	found := p.next(token)
	if found {
		p.at += len(token)
	}
	return found
}

// take is skip after white space.
func (p *parser) take(token string) bool {
	p.span(isSpace)
	return p.skip(token)
}

// span skips the bytes of a class and returns them.
func (p *parser) span(class func(byte) bool) string {
	start := p.at
	for p.at < len(p.text) && class(p.text[p.at]) {
		p.at++
	}
	return p.text[start:p.at]
}

func (p *parser) or() (Expr, error) {
	x, err := p.and()
	for err == nil && p.take("||") {
		var y Expr
		y, err = p.and()
		x = Or{x, y}
	}
	return x, err
}

func (p *parser) and() (Expr, error) {
	x, err := p.unary()
	for err == nil && p.take("&&") {
		var y Expr
		y, err = p.unary()
		x = And{x, y}
	}
	return x, err
}

func (p *parser) unary() (x Expr, err error) {
	negated := false
	for p.take("!") {
		if p.next("=") || p.next("~") { // no operand begins with these operators
			return nil, p.fail(p.at-1, "the name of a field expected")
		}
		negated = !negated
	}
	if open := p.at; !p.skip("(") {
		x, err = p.comparison()
	} else if x, err = p.or(); err == nil && !p.take(")") {
		if p.at == len(p.text) {
			return nil, p.fail(open, "( without )")
		}
		return nil, p.fail(p.at, "&&, || or ) expected")
	}
	if negated {
		x = Not{x}
	}
	return x, err
}

func (p *parser) comparison() (Expr, error) {
	c := &Comparison{FieldAt: p.at}
	if c.Field = p.span(isName); c.Field == "" {
		return nil, p.fail(p.at, "the name of a field expected")
	}
	p.skip(".ustring") // which says where a pointer points to: user events have none
	if p.next(".function") {
		return nil, p.fail(p.at, "only the kernel knows its functions")
	}
	p.span(isSpace)
	for c.Op = Glob; !p.skip(operators[c.Op]); c.Op++ {
		if c.Op == Mask {
			return nil, p.fail(p.at, "an operator expected: one of %s", strings.Join(operators[:], " "))
		}
	}
	p.span(isSpace)
	c.ValueAt = p.at
	switch {
	case p.next("CPUS"):
		return nil, p.fail(p.at, "only the kernel knows its processors")
	case p.next(`"`), p.next("'"):
		return c, p.quoted(c)
	}
	p.skip("-")
	p.span(isAlphanumeric)
	c.Value = p.text[c.ValueAt:p.at]
	switch {
	case c.Value == "" || c.Value[0] != '-' && !isDigit(c.Value[0]):
		return nil, p.fail(c.ValueAt, "a number, or text in quotes, expected")
	case c.Op == Glob:
		return nil, p.fail(c.ValueAt, "~ needs text in quotes")
	case len(c.Value) > maxNumber:
		return nil, p.fail(c.ValueAt, "the number has more than %d characters", maxNumber)
	}
	return c, nil
}

// quoted reads text between two quotes of one kind.
func (p *parser) quoted(c *Comparison) error {
	c.Quoted = true
	var found bool
	c.Value, _, found = strings.Cut(p.text[p.at+1:], p.text[p.at:p.at+1])
	p.at += len(c.Value) + 2
	switch {
	case c.Op != Equal && c.Op != NotEqual && c.Op != Glob:
		return p.fail(c.ValueAt, "text is compared with ==, != or ~, not with %s", operators[c.Op])
	case !found:
		return p.fail(c.ValueAt, "a quote without the second one")
	case len(c.Value) > maxPattern:
		return p.fail(c.ValueAt, "the text has more than %d bytes", maxPattern)
	}
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isSpace, isAlphanumeric and isName follow lib/ctype.c, which reads bytes as Latin-1.
func isSpace(c byte) bool { return '\t' <= c && c <= '\r' || c == ' ' || c == 0xa0 }

func isAlphanumeric(c byte) bool {
	return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= 0xc0 && c != 0xd7 && c != 0xf7
}

func isName(c byte) bool { return c == '_' || isAlphanumeric(c) }
