package condition

import (
	"fmt"
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

// Parse reads a condition. It calls leaf for each comparison. The error is an [*Error], or one of leaf.
func Parse(text string, leaf func(*Compare) (Expr, error)) (Expr, error) {
	p := parser{text: text, leaf: leaf}
	switch {
	case len(text) > maxText:
		return nil, p.fail(0, "the condition has more than %d bytes", maxText)
	case !utf8.ValidString(text):
		return nil, p.fail(0, "the condition is not UTF-8")
	}
	x, err := p.or()
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
	return x, nil
}

type parser struct {
	text  string
	leaf  func(*Compare) (Expr, error)
	at    int
	depth int
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &Error{Text: p.text, At: at, Problem: fmt.Sprintf(format, args...)}
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

func (p *parser) or() (Expr, error) {
	return p.binary("||", "or", p.and, func(x, y Expr) Expr { return Or{x, y} })
}

func (p *parser) and() (Expr, error) {
	return p.binary("&&", "and", p.unary, func(x, y Expr) Expr { return And{x, y} })
}

// binary reads operands, and joins those with an operator between them from the left.
func (p *parser) binary(sign, word string, operand func() (Expr, error), join func(x, y Expr) Expr) (Expr, error) {
	x, err := operand()
	for err == nil && (p.take(sign) || p.takeWord(word)) {
		var y Expr
		y, err = operand()
		x = join(x, y)
	}
	return x, err
}

func (p *parser) unary() (x Expr, err error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail(p.at, "more than %d parentheses and negations", maxDepth)
	}
	defer func() { p.depth-- }()
	switch p.space(); {
	case p.take("!"), p.takeWord("not"):
		x, err = p.unary()
		return Not{x}, err
	case p.next("("):
		open := p.at
		p.at++
		if x, err = p.or(); err == nil && !p.take(")") {
			if p.at == len(p.text) {
				return nil, p.fail(open, "( without )")
			}
			return nil, p.unexpected("and, or or )")
		}
		return x, err
	case p.takeWord("has"):
		return p.has()
	}
	return p.comparison()
}

// has reads the name behind has, which may be in parentheses.
func (p *parser) has() (Expr, error) {
	open := p.take("(")
	name, err := p.name()
	if err == nil && open && !p.take(")") {
		err = p.fail(p.at, ") expected")
	}
	if err != nil {
		return nil, err
	}
	return p.leaf(&Compare{Name: name, Op: Has, End: p.at})
}

// name reads a name, which needs quotes if it is no word.
func (p *parser) name() (Name, error) {
	p.space()
	name := Name{At: p.at}
	var err error
	if name.Text, _, err = p.textOrWord(); err == nil && name.Text == "" {
		err = p.fail(name.At, "the name of a value expected, such as level, message or an attribute's")
	}
	return name, err
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
func (p *parser) operator() (o Op, in, ok bool) {
	p.space()
	for _, candidate := range [...]Op{Regexp, Equal, NotEqual, LessOrEqual, GreaterOrEqual, Less, Greater, Glob} {
		if p.take(operators[candidate]) {
			return candidate, false, true
		}
	}
	switch {
	case p.next("&") && !p.next("&&"):
		p.at++
		return Mask, false, true
	case p.take("="):
		return Equal, false, true
	case p.word() == "in", p.word() == "IN":
		p.at += len("in")
		return Equal, true, true
	}
	return 0, false, false
}

func (p *parser) comparison() (Expr, error) {
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	p.space()
	negated := false
	if at := p.at; p.word() == "not" || p.word() == "NOT" {
		p.at += len("not")
		if w := p.word(); w != "in" && w != "IN" {
			return nil, p.fail(at, "in expected behind not, or not before %s", name.Text)
		}
		negated = true
	}
	at := p.at
	o, in, ok := p.operator()
	switch {
	case !ok && p.next("!~"):
		return nil, p.fail(at, "no operator: write not %s ~ PATTERN, or not %s =~ EXPRESSION", name.Text, name.Text)
	case !ok:
		return nil, p.fail(at, "an operator expected: == != < <= > >= ~ =~ & or in; has %s selects records that have it", name.Text)
	}
	c := &Compare{Name: name, Op: o}
	if in {
		err = p.list(c)
	} else {
		err = p.value(c)
	}
	if err != nil {
		return nil, err
	}
	c.End = p.at
	if negated {
		c.Op = NotEqual
	}
	return p.leaf(c)
}

func (p *parser) list(c *Compare) error {
	if !p.take("(") {
		return p.fail(p.at, "( expected: %s in (a, b)", c.Name.Text)
	}
	for {
		if err := p.value(c); err != nil {
			return err
		}
		switch {
		case len(c.Values) > maxValues:
			return p.fail(p.at, "more than %d values", maxValues)
		case p.take(")"):
			return nil
		case !p.take(","):
			return p.fail(p.at, ", or ) expected")
		}
	}
}

func (p *parser) value(c *Compare) error {
	p.space()
	v := Value{At: p.at}
	var err error
	if v.Text, v.Quoted, err = p.textOrWord(); err != nil {
		return err
	}
	if v.Text == "" && !v.Quoted {
		return p.fail(v.At, "a value expected: a number, a time such as 10ms, a word, or a text in quotes")
	}
	if !v.Quoted {
		v.Number = numberOf(v.Text)
	}
	c.Values = append(c.Values, v)
	return nil
}
