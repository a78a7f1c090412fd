package reader

import (
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/internal/text"
)

// maxDepth limits the nesting of lists and maps in a JSON text. No adapter writes deeper ones.
const maxDepth = 1000

// ParseJSON returns the value of a JSON text. It is the reverse of [Value.AppendJSON], except that bytes and non-finite
// numbers come back as texts. It returns false if the text is not JSON, or nests lists and maps more than 1000 deep. If
// several members of an object have one name, the last one counts. The value may refer to the text.
func ParseJSON(text string) (v Value, ok bool) {
	var s scratch
	return s.json(text)
}

// jsonText reads a JSON text (RFC 8259). It accepts control characters and bytes that are not UTF-8 in strings. Strings
// without escapes share the memory of the text.
type jsonText struct {
	s       string
	i       int
	depth   int
	scratch *scratch
}

// object appends the members of a text that is one JSON object to dst. Otherwise it returns dst unchanged.
func (s *scratch) object(text string, dst []Field) (fields []Field, ok bool) {
	p := jsonText{s: text, scratch: s}
	base := len(s.stack)
	fields = dst
	if p.space() != '{' || !p.members(&fields, '}', true) || p.space() != 0 || p.i < len(text) {
		s.stack = s.stack[:base]
		return dst, false
	}
	return fields, true
}

// json returns the value of a JSON text.
func (s *scratch) json(text string) (v Value, ok bool) {
	p := jsonText{s: text, scratch: s}
	base := len(s.stack)
	v, ok = p.value()
	s.stack = s.stack[:base]
	ok = ok && p.space() == 0 && p.i == len(text)
	return v, ok
}

// space skips white space and returns the next character, or 0 at the end.
func (p *jsonText) space() byte {
	for ; p.i < len(p.s); p.i++ {
		if c := p.s[p.i]; c > ' ' || c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

func (p *jsonText) value() (v Value, ok bool) {
	switch c := p.space(); c {
	case '"':
		text, ok := p.text()
		return StringValue(text), ok
	case '{', '[':
		return p.container(c)
	case 't':
		return BoolValue(true), p.word("true")
	case 'f':
		return BoolValue(false), p.word("false")
	case 'n':
		return Value{}, p.word("null")
	default:
		v, n := number(p.s[p.i:])
		p.i += n
		return v, n > 0
	}
}

func (p *jsonText) word(w string) bool {
	if !strings.HasPrefix(p.s[p.i:], w) {
		return false
	}
	p.i += len(w)
	return true
}

// container reads a list or a map.
func (p *jsonText) container(begin byte) (v Value, ok bool) {
	s, base := p.scratch, len(p.scratch.stack)
	if begin == '[' {
		ok = p.members(&s.stack, ']', false)
		return ListValue(s.end(base)), ok
	}
	ok = p.members(&s.stack, '}', true)
	s.stack = s.unique(s.stack, base)
	return MapValue(s.end(base)), ok
}

// members appends the elements behind an opening bracket, up to the closing one, to a list.
func (p *jsonText) members(to *[]Field, end byte, named bool) bool {
	if p.depth++; p.depth > maxDepth {
		return false
	}
	p.i++
	if p.space() == end {
		p.i++
		p.depth--
		return true
	}
	for {
		name := ""
		if named {
			ok := false
			if p.space() != '"' {
				return false
			}
			if name, ok = p.text(); !ok || p.space() != ':' {
				return false
			}
			p.i++
		}
		v, ok := p.value()
		if !ok {
			return false
		}
		*to = append(*to, Field{name, v})
		switch p.space() {
		case ',':
			p.i++
		case end:
			p.i++
			p.depth--
			return true
		default:
			return false
		}
	}
}

// text reads a string from its opening quote.
func (p *jsonText) text() (text string, ok bool) {
	begin := p.i + 1
	end := quoteOrBackslash(p.s, begin)
	if end == len(p.s) {
		return "", false
	}
	if p.s[end] == '"' {
		p.i = end + 1
		return p.s[begin:end], true
	}
	for {
		if end += 2; end >= len(p.s) { // behind an escape, or its first two characters
			return "", false
		}
		if end = quoteOrBackslash(p.s, end); end == len(p.s) {
			return "", false
		}
		if p.s[end] == '"' {
			p.i = end + 1
			return unescape(p.s[begin:end])
		}
	}
}

// quoteOrBackslash returns the position of the first quote or backslash from position i on, or the length of s. It looks at
// eight bytes at a time.
func quoteOrBackslash(s string, i int) int {
	const ones = chars.Ones
	for ; i <= len(s)-8; i += 8 {
		x := chars.Load64(s[i:])
		quotes, backslashes := x^'"'*ones, x^'\\'*ones // bytes that are 0
		if found := ((quotes-ones)&^quotes | (backslashes-ones)&^backslashes) & chars.Highs; found != 0 {
			return i + bits.TrailingZeros64(found)/8 // borrows change bits above the first one only
		}
	}
	for ; i < len(s); i++ {
		if s[i] == '"' || s[i] == '\\' {
			return i
		}
	}
	return i
}

// unescape returns the contents of a JSON string without escapes. Bytes that are not UTF-8 are kept.
func unescape(s string) (string, bool) {
	b := make([]byte, 0, len(s))
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			return text.UnescapeJSON(string(append(b, s...))), true
		}
		b, s = append(b, s[:i]...), s[i+1:]
		if s == "" {
			return "", false
		}
		c := s[0]
		s = s[1:]
		switch c {
		case '"', '\\', '/':
			b = append(b, c)
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r, ok := unit(s)
			if !ok {
				return "", false
			}
			s = s[4:]
			if utf16.IsSurrogate(r) {
				low := rune(utf8.RuneError)
				if strings.HasPrefix(s, `\u`) {
					low, _ = unit(s[2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					s = s[6:]
				}
			}
			b = utf8.AppendRune(b, r)
		default:
			return "", false
		}
	}
}

// unit returns the value of four hexadecimal digits.
func unit(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:4], 16, 16)
	return rune(n), err == nil
}
