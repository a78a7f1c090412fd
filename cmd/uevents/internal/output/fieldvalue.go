package output

import (
	"math/bits"
	"strings"
	"unicode"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/record"
)

// plainMembers are the members of a JSON object in [record.Record].FieldsJSON, or the rest of them: a bracket or a comma in front of a
// member, or the bracket at the end. There are no spaces between tokens, and texts are printable ASCII without escapes.
type plainMembers struct{ rest string }

// next returns the next member: its name and its value.
func (m *plainMembers) next() (name, value plainText, ok bool) {
	if len(m.rest) < len(`{"":0`) {
		return name, value, false
	}
	name = plainString(m.rest[1:])
	rest := m.rest[1+len(name.json)+len(`:`):]
	if rest[0] == '"' {
		value = plainString(rest)
	} else {
		value = plainText{rest[:plainLen(rest)], true}
	}
	m.rest = rest[len(value.json):]
	return name, value, true
}

// plainText is a text in quotes, or another value, as JSON.
type plainText struct {
	json string
	word bool // see isWord; true for other values
}

// content returns a text without its quotes, or another value.
func (p plainText) content() string {
	if p.json[0] == '"' {
		return p.json[1 : len(p.json)-1]
	}
	return p.json
}

// appendWord appends a text without its quotes if it is a word.
func (p plainText) appendWord(b []byte) []byte {
	if p.word {
		return append(b, p.content()...)
	}
	return append(b, p.json...)
}

// plainString returns the text in quotes at the beginning of s. It looks at eight bytes at a time. As these are ASCII, a byte of a
// difference is 0 or its high bit stays clear when 1 is subtracted; after a 0, the bits of the bytes behind it mean nothing.
func plainString(s string) plainText {
	const ones, highs = chars.Ones, chars.Highs
	var odd uint64
	i := 1
	for ; i <= len(s)-8; i += 8 {
		x := chars.Load64(s[i:])
		// A space and a quote differ in one bit, brackets in another.
		here := ((x&^(ones*2) ^ ones*' ') - ones) | ((x ^ ones*'=') - ones) | (((x | ones*0x20) ^ ones*'{') - ones)
		if quotes := ((x ^ ones*'"') - ones) & highs; quotes != 0 {
			n := bits.TrailingZeros64(quotes) / 8
			odd |= here & (1<<(8*n) - 1)
			i += n
			return plainText{s[:i+1], odd&highs == 0 && i > 1}
		}
		odd |= here
	}
	end := i + strings.IndexByte(s[i:], '"')
	return plainText{s[:end+1], odd&highs == 0 && end > 1 && (i == end || isWord(s[i:end]))}
}

// plainLen returns the length of the value at the beginning of s, which is no text.
func plainLen(s string) int {
	i := 0
	if s[0] != '{' && s[0] != '[' {
		for s[i] != ',' && s[i] != '}' {
			i++
		}
		return i
	}
	for depth := 0; ; i++ {
		switch s[i] {
		case '"':
			i += 1 + strings.IndexByte(s[i+1:], '"')
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// fieldValue is the value of a field of an event: decoded, or where [record.Record].FieldsJSON has it, as it is there.
type fieldValue struct {
	plain plainText // zero if it is decoded
	v     record.Value
}

// findField returns the field of an event with a name, as [record.Record.Lookup] does.
func findField(ev *record.Record, name string) (f fieldValue, found bool) {
	for fields := (plainMembers{ev.FieldsJSON()}); ; {
		key, value, ok := fields.next()
		if !ok {
			break
		}
		if key.content() == name {
			return fieldValue{plain: value}, true
		}
	}
	if ev.FieldsJSON() != "" && !strings.ContainsFunc(name, isSeparator) { // it names no field of a group, and none that is declared with another name
		return f, false
	}
	f.v, found = ev.Lookup(name)
	return f, found
}

func isSeparator(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func (f *fieldValue) append(b []byte, json bool) []byte {
	switch {
	case f.plain.json == "":
		return appendValue(b, f.v, json)
	case json:
		return append(b, f.plain.json...)
	default:
		return append(b, f.plain.content()...)
	}
}

// appendWord appends the value as text, with quotes if a text could be read as several words or as another value.
func (f *fieldValue) appendWord(b []byte) []byte {
	switch {
	case f.plain.json != "":
		return f.plain.appendWord(b)
	case f.v.Type() == record.TypeString:
		return appendWord(b, f.v.Text())
	default:
		return f.v.AppendText(b)
	}
}

// appendWord appends a text, with quotes if it is no word.
func appendWord(b []byte, s string) []byte {
	if !isWord(s) {
		return attrjson.AppendString(b, s)
	}
	return appendText(b, s)
}

// isWord reports whether a text cannot be read as several words, or as another value.
func isWord(s string) bool {
	for i := range len(s) {
		if notInWords[s[i]] {
			return false
		}
	}
	return s != ""
}

var notInWords = [256]bool{' ': true, '=': true, '"': true, '{': true, '[': true}
