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

// SetJSON makes rec the record of a JSON object: the last member fields becomes [Record.Fields]. It returns all members, for the caller to set
// the rest; the value of fields is null if rec decodes it at first use. It returns false if [ParseJSON] does, or if the text is no object.
//
// rec and the members refer to the text and reuse the memory of rec: they are valid until rec is set or decoded into again, or the text
// changes. [Record.Clone] returns a copy without these limits.
func (rec *Record) SetJSON(object []byte) (members []Field, ok bool) {
	s := rec.scratch
	if s == nil {
		s = new(scratch)
	}
	s.begin()
	*rec = Record{}
	rec.CPU, rec.scratch = -1, s
	p := jsonText{s: stringOf(object), scratch: s, keeps: true}
	members = room(s.members)
	if ok = p.object(&members); !ok {
		return nil, false
	}
	s.members = members
	for i := len(members) - 1; i >= 0; i-- {
		if members[i].Name != "fields" {
			continue
		}
		if v := &members[i].Value; v.typ == typeJSON {
			rec.attributes, rec.isPlain = v.str, true
			*v = Value{}
		} else {
			rec.fields = v.list
		}
		break
	}
	return members, true
}

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
		switch c := p.space(); c {
		case '{', '[':
			if p.keeps && p.depth == 1 && name == "fields" {
				if size := plainLen(p.s[p.i:]); size > 0 {
					f.Value.typ, f.Value.str = typeJSON, p.s[p.i:p.i+size]
					p.i += size
					break
				}
			}
			v, ok := p.container(c)
			if !ok {
				return false
			}
			(*to)[n].Value = v // the list may be another one
		default:
			if !p.scalar(&f.Value, c) {
				return false
			}
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

// isPlain reports whether json is an object with members that comes out the same, byte for byte, when it is read and written
// again: its texts are printable ASCII without escapes, its numbers have the form that this module writes, keys are
// unique in each object, and there is no white space between tokens. Then it can be copied in place of being read. The
// result is true for most attributes that this module wrote, and never for anything else than JSON; false says nothing.
func isPlain(json string) bool { return json != "" && plainLen(json) == len(json) }

// plainLen returns the length of the plain object at the beginning of s, or 0 if there is none.
func plainLen(s string) int {
	if !strings.HasPrefix(s, `{"`) {
		return 0
	}
	return plainObject(s[:min(len(s), maxPlain)], len(`{`), 0)
}

const (
	maxPlain      = 1<<16 - 1 // positions have 16 bits
	maxPlainKeys  = 24        // of an object
	maxPlainDepth = 8
)

// The plain functions return the position behind what is next in s, from position i on, or 0 if it is not plain.

func plainObject(s string, i, depth int) int {
	if i < len(s) && s[i] == '}' {
		return i + 1
	}
	var keys [maxPlainKeys]struct{ begin, end uint16 }
	var marks uint64 // of the keys so far: most keys differ in theirs, which depend on the length and the last character
	for n := range keys {
		if i >= len(s) || s[i] != '"' {
			return 0
		}
		// As in plainText. Most keys end here, without a call.
		begin, end := i+1, 0
		for at := begin; ; at += 8 {
			if at > len(s)-8 {
				if end = plainText(s, at) - 1; end < 0 {
					return 0
				}
				break
			}
			if found := chars.Unquoted(chars.Load64(s[at:])) & chars.Highs; found != 0 {
				end = at + bits.TrailingZeros64(found)/8
				break
			}
		}
		if end+2 >= len(s) || s[end:end+2] != `":` {
			return 0
		}
		keys[n].begin, keys[n].end = uint16(begin), uint16(end)
		mark := uint64(1) << ((uint(end-begin) + 11*uint(s[end-1])) % 64)
		if marks&mark != 0 && hasKey(s, keys[:n], s[begin:end]) {
			return 0
		}
		marks |= mark
		switch c := s[end+2]; {
		case c == '"':
			i = plainText(s, end+3)
		case c <= '9':
			i = plainNumber(s, end+2)
		default:
			i = plainValue(s, end+2, depth)
		}
		if i == 0 || i >= len(s) {
			return 0
		}
		switch s[i] {
		case ',':
			i++
		case '}':
			return i + 1
		default:
			return 0
		}
	}
	return 0
}

func hasKey(s string, keys []struct{ begin, end uint16 }, key string) bool {
	for _, k := range keys {
		if s[k.begin:k.end] == key {
			return true
		}
	}
	return false
}

func plainValue(s string, i, depth int) int {
	if i >= len(s) {
		return 0
	}
	switch s[i] {
	case '"':
		return plainText(s, i+1)
	case 't':
		return plainWord(s, i, "true")
	case 'f':
		return plainWord(s, i, "false")
	case 'n':
		return plainWord(s, i, "null")
	case '{':
		if depth < maxPlainDepth {
			return plainObject(s, i+1, depth+1)
		}
		return 0
	case '[':
		if depth < maxPlainDepth {
			return plainList(s, i+1, depth+1)
		}
		return 0
	default:
		return plainNumber(s, i)
	}
}

func plainWord(s string, i int, word string) int {
	if len(s)-i < len(word) || s[i:i+len(word)] != word {
		return 0
	}
	return i + len(word)
}

func plainList(s string, i, depth int) int {
	if i < len(s) && s[i] == ']' {
		return i + 1
	}
	for {
		if i = plainValue(s, i, depth); i == 0 || i >= len(s) {
			return 0
		}
		switch s[i] {
		case ',':
			i++
		case ']':
			return i + 1
		default:
			return 0
		}
	}
}

// plainText skips a text behind its opening quote. It looks at eight bytes at a time, as [chars.PlainLen] does, without a call.
func plainText(s string, i int) int {
	rest := s[i:]
	for len(rest) >= 8 {
		if found := chars.Unquoted(chars.Load64(rest)) & chars.Highs; found != 0 {
			n := bits.TrailingZeros64(found) / 8 // the first one that is found is exact
			if rest[n] != '"' {
				return 0
			}
			return len(s) - len(rest) + n + 1
		}
		rest = rest[8:]
	}
	for n := range len(rest) {
		switch c := rest[n]; {
		case c == '"':
			return len(s) - len(rest) + n + 1
		case !chars.IsPlain(c):
			return 0
		}
	}
	return 0
}

// plainNumber skips a number of at most 15 digits. No two of them have the same float, so a fraction that does not end in a
// zero, or is one, is the shortest form of its own. Numbers below 1e-6 have another form.
func plainNumber(s string, i int) int {
	negative := s[i] == '-'
	if negative {
		i++
	}
	first := i
	for i < len(s) && s[i]-'0' < 10 {
		i++
	}
	whole := i - first
	if whole == 0 || s[first] == '0' && whole > 1 {
		return 0
	}
	if i == len(s) || s[i] != '.' {
		if whole > maxPlainDigits || negative && s[first] == '0' { // a float
			return 0
		}
		return i
	}
	i++
	for i < len(s) && s[i]-'0' < 10 {
		i++
	}
	if c := s[i-1]; c == '.' || c == '0' && i-first != whole+len(".0") || i-first > maxPlainDigits+len(".") {
		return 0
	}
	const tooSmall = "0.000000"
	if s[first] == '0' && i-first >= len(tooSmall) && s[first:first+len(tooSmall)] == tooSmall {
		return 0
	}
	return i
}

const maxPlainDigits = 15
