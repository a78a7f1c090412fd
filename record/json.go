package record

import (
	"math/bits"
	"slices"
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
	// keeps makes a member fields of the outermost object, if it is plain, a value of typeJSON.
	keeps bool
}

// typeJSON is the type of a map that is JSON still.
const typeJSON = TypeMap + 1

// object appends the members of a text that is one JSON object to dst. Otherwise it returns dst unchanged.
func (s *scratch) object(text string, dst []Field) (fields []Field, ok bool) {
	p := jsonText{s: text, scratch: s}
	base := len(s.stack)
	fields = dst
	if !p.object(&fields) {
		s.stack = s.stack[:base]
		return dst, false
	}
	return fields, true
}

// object appends the members of the text, if it is one JSON object.
func (p *jsonText) object(to *[]Field) bool {
	return p.space() == '{' && p.members(to, '}', true) && p.space() == 0 && p.i == len(p.s)
}

func (s *scratch) json(text string) (v Value, ok bool) {
	p := jsonText{s: text, scratch: s}
	base := len(s.stack)
	switch c := p.space(); c {
	case '{', '[':
		v, ok = p.container(c)
	default:
		ok = p.scalar(&v, c)
	}
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

// scalar sets the zero Value to one that begins with c and is no container.
func (p *jsonText) scalar(v *Value, c byte) (ok bool) {
	switch c {
	case '"':
		v.typ = TypeString
		v.str, ok = p.text()
		return ok
	case 't':
		v.typ, v.num = TypeBool, 1
		return p.word("true")
	case 'f':
		v.typ = TypeBool
		return p.word("false")
	case 'n':
		return p.word("null")
	default:
		n := 0
		*v, n = number(p.s[p.i:])
		p.i += n
		return n > 0
	}
}

func (p *jsonText) word(w string) bool {
	if !strings.HasPrefix(p.s[p.i:], w) {
		return false
	}
	p.i += len(w)
	return true
}

// value sets the zero Value to the one that is next. name is that of the member that has it.
func (p *jsonText) value(name string, v *Value) (ok bool) {
	c := p.space()
	if c != '{' && c != '[' {
		return p.scalar(v, c)
	}
	if p.keeps && p.depth == 1 && name == "fields" {
		if size := plainLen(p.s[p.i:]); size > 0 {
			v.typ, v.str = typeJSON, p.s[p.i:p.i+size]
			p.i += size
			return true
		}
	}
	*v, ok = p.container(c)
	return ok
}

// key skips the key of a member and what is in front of it, if it is next.
func (p *jsonText) key(m *member[Record]) bool {
	key := m.key.Bytes()[1:] // behind the comma, which is a bracket in front of the first member
	at := p.i + 1
	if len(p.s)-at < len(key) || p.s[p.i] == '}' || p.s[at:at+len(key)] != string(key) {
		return false
	}
	p.i = at + len(key)
	return true
}

// skip skips members that are next, if they are these as a whole.
func (p *jsonText) skip(members []byte) bool {
	end := p.i + len(members)
	if len(members) == 0 || end >= len(p.s) || p.s[p.i:end] != string(members) || p.s[end] != ',' && p.s[end] != '}' {
		return false
	}
	p.i = end
	return true
}

// unknownRest skips the rest of an object of which a member was read, and returns false if it is not one of unknown members.
func (p *jsonText) unknownRest() bool {
	if p.s[p.i:] == "}" {
		return true
	}
	list := room(p.scratch.members)
	if !strings.HasPrefix(p.s[p.i:], `,"`) || !p.members(&list, '}', true) || p.i < len(p.s) {
		return false
	}
	p.scratch.members = list
	return !slices.ContainsFunc(list, func(f Field) bool { return memberOf[f.Name] != nil })
}

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
		// A Field is large: most are set in their place.
		n := len(*to)
		if n == cap(*to) {
			*to = slices.Grow(*to, 1)
		}
		*to = (*to)[:n+1]
		f := &(*to)[n]
		*f = Field{}
		f.Name = name
		if c := p.space(); c != '{' && c != '[' {
			if !p.scalar(&f.Value, c) {
				return false
			}
		} else {
			var v Value
			if !p.value(name, &v) {
				return false
			}
			(*to)[n].Value = v // the list may be another one
		}
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

func (p *jsonText) text() (text string, ok bool) {
	begin := p.i + 1
	for end := begin; end <= len(p.s)-8; end += 8 {
		if found := chars.Unquoted(chars.Load64(p.s[end:])) & chars.Highs; found != 0 {
			if end += bits.TrailingZeros64(found) / 8; p.s[end] != '"' {
				break
			}
			p.i = end + 1
			return p.s[begin:end], true
		}
	}
	return p.anyText(begin)
}

// anyText is text for one that is not plain, or near the end.
func (p *jsonText) anyText(begin int) (text string, ok bool) {
	for end := begin; ; end += 2 { // behind an escape, or its first two characters
		if end >= len(p.s) {
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
	if strings.IndexByte(s, '\\') < 0 {
		return text.UnescapeJSON(s), true
	}
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

func unit(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:4], 16, 16)
	return rune(n), err == nil
}
