package reader

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"
)

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
	if rest, found := strings.CutPrefix(s, "!"); found {
		negated, s = "^", rest
	} else if rest, found := strings.CutPrefix(s, "^"); found {
		negated, s = "^", rest
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
