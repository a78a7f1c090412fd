package where

import (
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of conditions.
const (
	maxText   = 64 << 10
	maxDepth  = 100  // of parentheses and negations
	maxValues = 1000 // of in
)

// Parse parses a condition. The error is an [*Error].
func Parse(text string) (*Condition, error) {
	p := parser{text: text}
	switch {
	case len(text) > maxText:
		return nil, p.fail(0, "the condition has more than %d bytes", maxText)
	case !utf8.ValidString(text):
		return nil, p.fail(0, "the condition is not UTF-8")
	}
	root, err := p.or()
	if err != nil {
		return nil, err
	}
	p.space()
	switch {
	case p.next(")"):
		return nil, p.fail(p.at, ") without (")
	case p.at < len(text):
		return nil, p.unexpected("and or or")
	}
	return &Condition{text: text, root: root, leaves: p.leaves}, nil
}

type parser struct {
	text   string
	at     int
	depth  int
	leaves []*leaf
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &Error{text: p.text, At: at, Problem: fmt.Sprintf(format, args...)}
}

// unexpected is the error about what follows a comparison.
func (p *parser) unexpected(expected string) error {
	if _, err := time.ParseDuration("1" + p.word()); err == nil && p.word() != "" {
		return p.fail(p.at, "%s expected; a time has no blank before its unit", expected)
	}
	return p.fail(p.at, "%s expected; a text of several words needs quotes", expected)
}

func (p *parser) space() {
	p.at += len(p.text[p.at:]) - len(strings.TrimLeft(p.text[p.at:], " \t\r\n"))
}

func (p *parser) next(token string) bool { return strings.HasPrefix(p.text[p.at:], token) }

// take skips white space, and the token if it is next.
func (p *parser) take(token string) bool {
	p.space()
	if !p.next(token) {
		return false
	}
	p.at += len(token)
	return true
}

// isWordByte reports whether a byte belongs to a word without quotes.
func isWordByte(c byte) bool { return c > ' ' && !strings.ContainsRune("()&|!=<>~,\"'`", rune(c)) }

// word returns the word that is next, or "".
func (p *parser) word() string {
	p.space()
	end := p.at
	for end < len(p.text) && (p.text[end] >= utf8.RuneSelf || isWordByte(p.text[end])) {
		end++
	}
	return p.text[p.at:end]
}

// takeWord skips the word if it is next and no name: no operator follows.
func (p *parser) takeWord(word string) bool {
	if w := p.word(); w != word && w != strings.ToUpper(word) {
		return false
	}
	before := p.at
	p.at += len(word)
	_, in, ok := p.operator()
	if isName := ok && (!in || p.take("(")); isName {
		p.at = before
		return false
	}
	p.at = before + len(word)
	return true
}

func (p *parser) or() (node, error) {
	return p.binary("||", "or", p.and, func(x, y node) node { return or{x, y} })
}

func (p *parser) and() (node, error) {
	return p.binary("&&", "and", p.unary, func(x, y node) node { return and{x, y} })
}

// binary reads operands, and joins those with an operator between them from the left.
func (p *parser) binary(sign, word string, operand func() (node, error), join func(x, y node) node) (node, error) {
	x, err := operand()
	for err == nil && (p.take(sign) || p.takeWord(word)) {
		var y node
		y, err = operand()
		x = join(x, y)
	}
	return x, err
}

func (p *parser) unary() (x node, err error) {
	if p.depth++; p.depth > maxDepth {
		return x, p.fail(p.at, "more than %d parentheses and negations", maxDepth)
	}
	defer func() { p.depth-- }()
	switch p.space(); {
	case p.take("!"), p.takeWord("not"):
		x, err = p.unary()
		return not{x}, err
	case p.next("("):
		open := p.at
		p.at++
		if x, err = p.or(); err == nil && !p.take(")") {
			if p.at == len(p.text) {
				return x, p.fail(open, "( without )")
			}
			return x, p.unexpected("and, or or )")
		}
		return x, err
	case p.takeWord("has"):
		return p.has()
	}
	return p.comparison()
}

// has reads the name behind has, which may be in parentheses.
func (p *parser) has() (node, error) {
	open := p.take("(")
	l, at, err := p.name()
	if err == nil && open && !p.take(")") {
		err = p.fail(p.at, ") expected")
	}
	if err != nil {
		return nil, err
	}
	l.op = opHas
	return p.complete(l, at)
}

// name reads a name, which needs quotes if it is no word, and returns the comparison that begins with it, and where it begins.
func (p *parser) name() (l *leaf, at int, err error) {
	p.space()
	at = p.at
	name, _, err := p.textOrWord()
	if err == nil && name == "" {
		err = p.fail(at, "the name of a value expected, such as level, message or an attribute's")
	}
	return newLeaf(name), at, err
}

func (p *parser) textOrWord() (text string, quoted bool, err error) {
	p.space()
	if p.at == len(p.text) || !strings.ContainsRune("\"'`", rune(p.text[p.at])) {
		text = p.word()
		p.at += len(text)
		return text, false, nil
	}
	text, _, found := strings.Cut(p.text[p.at+1:], p.text[p.at:p.at+1])
	if !found {
		return "", true, p.fail(p.at, "a quote without the second one")
	}
	p.at += len(text) + 2
	return text, true, nil
}

// operator reads an operator. negated is of those that mean the opposite.
func (p *parser) operator() (o operator, in, ok bool) {
	p.space()
	for _, candidate := range [...]operator{opRegexp, opEqual, opNotEqual, opLessOrEqual, opGreaterOrEqual, opLess, opGreater, opGlob} {
		if p.take(operators[candidate]) {
			return candidate, false, true
		}
	}
	switch {
	case p.next("&") && !p.next("&&"):
		p.at++
		return opMask, false, true
	case p.take("="):
		return opEqual, false, true
	case p.word() == "in", p.word() == "IN":
		p.at += len("in")
		return opEqual, true, true
	}
	return 0, false, false
}

func (p *parser) comparison() (node, error) {
	l, begin, err := p.name()
	if err != nil {
		return nil, err
	}
	p.space()
	negated := false
	if at := p.at; p.word() == "not" || p.word() == "NOT" {
		p.at += len("not")
		if w := p.word(); w != "in" && w != "IN" {
			return nil, p.fail(at, "in expected behind not, or not before %s", l.name)
		}
		negated = true
	}
	at := p.at
	o, in, ok := p.operator()
	switch {
	case !ok && p.next("!~"):
		return nil, p.fail(at, "no operator: write not %s ~ PATTERN, or not %s =~ EXPRESSION", l.name, l.name)
	case !ok:
		return nil, p.fail(at, "an operator expected: == != < <= > >= ~ =~ & or in; has %s selects records that have it", l.name)
	}
	if in {
		err = p.list(l)
	} else {
		err = p.value(l)
	}
	if err != nil {
		return nil, err
	}
	l.op = o
	if negated {
		l.op = opNotEqual
	}
	n, err := p.complete(l, begin)
	if err != nil && !p.ended() { // what follows the value shows the mistake
		return nil, p.unexpected("and or or")
	}
	return n, err
}

// ended reports whether the text ends here, or goes on as it may behind a comparison.
func (p *parser) ended() bool {
	p.space()
	switch {
	case p.at == len(p.text), p.next(")"), p.next("&&"), p.next("||"):
		return true
	}
	w := strings.ToLower(p.word())
	return w == "and" || w == "or"
}

func (p *parser) list(l *leaf) error {
	if !p.take("(") {
		return p.fail(p.at, "( expected: %s in (a, b)", l.name)
	}
	for {
		if err := p.value(l); err != nil {
			return err
		}
		switch {
		case len(l.values) > maxValues:
			return p.fail(p.at, "more than %d values", maxValues)
		case p.take(")"):
			return nil
		case !p.take(","):
			return p.fail(p.at, ", or ) expected")
		}
	}
}

func (p *parser) value(l *leaf) error {
	p.space()
	v := value{at: p.at}
	var err error
	if v.text, v.quoted, err = p.textOrWord(); err != nil {
		return err
	}
	if v.text == "" && !v.quoted {
		return p.fail(v.at, "a value expected: a number, a time such as 10ms, a word, or a text in quotes")
	}
	if !v.quoted {
		v.number = numberOf(v.text)
	}
	l.values = append(l.values, v)
	return nil
}

// operator is the operator of a comparison.
type operator uint8

// The operators.
const (
	opEqual operator = iota
	opNotEqual
	opLess
	opLessOrEqual
	opGreater
	opGreaterOrEqual
	opGlob   // the whole text matches a pattern with *, ? and [a-z]
	opRegexp // a part of the text matches a regular expression
	opMask   // a bit of the number is set
	opHas    // a record has the name; there is no value
)

var operators = [...]string{
	opEqual: "==", opNotEqual: "!=", opLess: "<", opLessOrEqual: "<=", opGreater: ">", opGreaterOrEqual: ">=", opGlob: "~", opRegexp: "=~", opMask: "&", opHas: "has",
}

// String returns the operator as conditions have it.
func (o operator) String() string { return operators[o] }

// Error says where and why a condition is refused. It wraps [fs.ErrInvalid].
type Error struct {
	text    string // of the condition
	At      int    // offset in the text, in bytes
	Problem string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s, at byte %d of %q: %v", e.Problem, e.At+1, e.text, e.Unwrap())
}

// Unwrap returns [fs.ErrInvalid].
func (e *Error) Unwrap() error { return fs.ErrInvalid }
