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

// Parse reads a condition. The error is an [*Error], or one of Builder.Compare.
func Parse[N any](text string, build Builder[N]) (none N, err error) {
	p := parser[N]{text: text, build: build}
	switch {
	case len(text) > maxText:
		return none, p.fail(0, "the condition has more than %d bytes", maxText)
	case !utf8.ValidString(text):
		return none, p.fail(0, "the condition is not UTF-8")
	}
	x, err := p.or()
	if err != nil {
		return none, err
	}
	p.space()
	switch {
	case p.next(")"):
		return none, p.fail(p.at, ") without (")
	case p.at < len(text):
		return none, p.unexpected("and or or")
	}
	return x, nil
}

type parser[N any] struct {
	text  string
	build Builder[N]
	at    int
	depth int
}

func (p *parser[N]) fail(at int, format string, args ...any) error {
	return &Error{Text: p.text, At: at, Problem: fmt.Sprintf(format, args...)}
}

// unexpected is the error about what follows a comparison.
func (p *parser[N]) unexpected(expected string) error {
	if _, err := time.ParseDuration("1" + p.word()); err == nil && p.word() != "" {
		return p.fail(p.at, "%s expected; a time has no blank before its unit", expected)
	}
	return p.fail(p.at, "%s expected; a text of several words needs quotes", expected)
}

func (p *parser[N]) space() {
	p.at += len(p.text[p.at:]) - len(strings.TrimLeft(p.text[p.at:], " \t\r\n"))
}

func (p *parser[N]) next(token string) bool { return strings.HasPrefix(p.text[p.at:], token) }

// take skips white space, and the token if it is next.
func (p *parser[N]) take(token string) bool {
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
func (p *parser[N]) word() string {
	p.space()
	end := p.at
	for end < len(p.text) && (p.text[end] >= utf8.RuneSelf || isWordByte(p.text[end])) {
		end++
	}
	return p.text[p.at:end]
}

// takeWord skips the word if it is next and no name: no operator follows.
func (p *parser[N]) takeWord(word string) bool {
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

func (p *parser[N]) or() (N, error) { return p.binary("||", "or", p.and, p.build.Or) }

func (p *parser[N]) and() (N, error) { return p.binary("&&", "and", p.unary, p.build.And) }

// binary reads operands, and joins those with an operator between them from the left.
func (p *parser[N]) binary(sign, word string, operand func() (N, error), join func(x, y N) N) (N, error) {
	x, err := operand()
	for err == nil && (p.take(sign) || p.takeWord(word)) {
		var y N
		y, err = operand()
		x = join(x, y)
	}
	return x, err
}

func (p *parser[N]) unary() (x N, err error) {
	if p.depth++; p.depth > maxDepth {
		return x, p.fail(p.at, "more than %d parentheses and negations", maxDepth)
	}
	defer func() { p.depth-- }()
	switch p.space(); {
	case p.take("!"), p.takeWord("not"):
		x, err = p.unary()
		return p.build.Not(x), err
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
func (p *parser[N]) has() (none N, err error) {
	open := p.take("(")
	name, err := p.name()
	if err == nil && open && !p.take(")") {
		err = p.fail(p.at, ") expected")
	}
	if err != nil {
		return none, err
	}
	return p.build.Compare(&Compare{Name: name, Op: Has, End: p.at})
}

// name reads a name, which needs quotes if it is no word.
func (p *parser[N]) name() (Name, error) {
	p.space()
	name := Name{At: p.at}
	var err error
	if name.Text, _, err = p.textOrWord(); err == nil && name.Text == "" {
		err = p.fail(name.At, "the name of a value expected, such as level, message or an attribute's")
	}
	return name, err
}

func (p *parser[N]) textOrWord() (text string, quoted bool, err error) {
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
func (p *parser[N]) operator() (o Op, in, ok bool) {
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

func (p *parser[N]) comparison() (none N, err error) {
	name, err := p.name()
	if err != nil {
		return none, err
	}
	p.space()
	negated := false
	if at := p.at; p.word() == "not" || p.word() == "NOT" {
		p.at += len("not")
		if w := p.word(); w != "in" && w != "IN" {
			return none, p.fail(at, "in expected behind not, or not before %s", name.Text)
		}
		negated = true
	}
	at := p.at
	o, in, ok := p.operator()
	switch {
	case !ok && p.next("!~"):
		return none, p.fail(at, "no operator: write not %s ~ PATTERN, or not %s =~ EXPRESSION", name.Text, name.Text)
	case !ok:
		return none, p.fail(at, "an operator expected: == != < <= > >= ~ =~ & or in; has %s selects records that have it", name.Text)
	}
	c := &Compare{Name: name, Op: o}
	if in {
		err = p.list(c)
	} else {
		err = p.value(c)
	}
	if err != nil {
		return none, err
	}
	c.End = p.at
	if negated {
		c.Op = NotEqual
	}
	n, err := p.build.Compare(c)
	if err != nil && !p.ended() { // what follows the value shows the mistake
		return none, p.unexpected("and or or")
	}
	return n, err
}

// ended reports whether the text ends here, or goes on as it may behind a comparison.
func (p *parser[N]) ended() bool {
	p.space()
	switch {
	case p.at == len(p.text), p.next(")"), p.next("&&"), p.next("||"):
		return true
	}
	w := strings.ToLower(p.word())
	return w == "and" || w == "or"
}

func (p *parser[N]) list(c *Compare) error {
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

func (p *parser[N]) value(c *Compare) error {
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
