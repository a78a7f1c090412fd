package filter

import "bytes"

// pattern is text that a field is compared with. Its zero value matches empty text.
type pattern struct {
	text []byte // without NUL
	part part
	not  bool
}

// part says what the text has to be of the field.
type part uint8

const (
	full part = iota
	front
	middle
	end
	glob
)

// compilePattern is filter_parse_regex.
func compilePattern(s string) (p pattern) {
	text := []byte(s)
	text, p.not = bytes.CutPrefix(text, []byte("!"))
	p.text = text
	if len(text) == 0 || isDigit(text[0]) {
		return p
	}
	last := len(text) - 1
	if last > 0 && bytes.IndexByte(text[1:last], '*') >= 0 || bytes.ContainsAny(text, `[?\`) {
		p.part = glob
		return p
	}
	atStart, atEnd := text[0] == '*', last > 0 && text[last] == '*'
	switch {
	case atStart && atEnd:
		p.part, p.text = middle, text[1:last]
	case atStart:
		p.part, p.text = end, text[1:]
	case atEnd:
		p.part, p.text = front, text[:last]
	}
	return p
}

func (p *pattern) match(s []byte) bool {
	var found bool
	switch p.part {
	case full:
		found = bytes.HasPrefix(s, p.text) && (len(s) == len(p.text) || s[len(p.text)] == 0)
	case front:
		found = bytes.HasPrefix(s, p.text)
	case middle:
		found = bytes.Contains(s, p.text)
	case end: // before what should be a NUL
		found = len(s) > 0 && bytes.HasSuffix(s[:len(s)-1], p.text)
	case glob:
		found = matchGlob(p.text, s)
	}
	return found != p.not
}

// matchGlob is glob_match_len of lib/glob.c: * and ?, [a-z], [!a-z], and \ before a character that stands for itself.
func matchGlob(pattern, s []byte) bool {
	at := func(b []byte, i int) byte { // the kernel's strings end in a NUL
		if i < len(b) {
			return b[i]
		}
		return 0
	}
	star, retry := 0, 0 // where to go on in pattern and s after a mismatch: behind the last *, if there was one
	for i, j := 0, 0; ; {
		c, d := at(s, j), at(pattern, i)
		i, j = i+1, j+1
		matches := false
		switch d {
		case '*':
			j--
			star, retry = i, j
			continue
		case '?':
			matches = c != 0
			if !matches {
				return false
			}
		case '[':
			if c == 0 {
				return false
			}
			if in, size := matchClass(pattern[i:], c); size > 0 {
				matches = in
				i += size
			} else {
				matches = c == d
			}
		case '\\':
			d = at(pattern, i)
			i++
			fallthrough
		default:
			matches = c == d
			if matches && d == 0 {
				return true
			}
		}
		if !matches {
			if c == 0 || star == 0 {
				return false
			}
			retry++
			i, j = star, retry
		}
	}
}

// matchClass reports whether a character is in a class that begins after its [, and returns the size of the class. It
// is 0 if the class does not end: the [ then stands for itself.
func matchClass(class []byte, c byte) (in bool, size int) {
	rest, inverted := bytes.CutPrefix(class, []byte("!"))
	for first := true; ; first = false {
		switch {
		case len(rest) == 0:
			return false, 0
		case rest[0] == ']' && !first:
			return in != inverted, len(class) - len(rest) + 1
		}
		from, to := rest[0], rest[0]
		rest = rest[1:]
		if len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			to, rest = rest[1], rest[2:]
		}
		in = in || from <= c && c <= to
	}
}
