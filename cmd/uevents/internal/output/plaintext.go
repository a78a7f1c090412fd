package output

import (
	"math/bits"
	"strings"

	"github.com/userevents/userevents-go/internal/chars"
)

// plainMembers are the members of a JSON object in [reader.Event].FieldsJSON, or the rest of them: a bracket or a comma in front of a
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
	depth := 0
	for i := 0; ; i++ {
		switch s[i] {
		case '"':
			i += 1 + strings.IndexByte(s[i+1:], '"')
		case '{', '[':
			depth++
		case ',':
			if depth == 0 {
				return i
			}
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}
