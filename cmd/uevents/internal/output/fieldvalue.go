package output

import (
	"strings"
	"unicode"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/reader"
)

// fieldValue is the value of a field of an event: decoded, or where [reader.Event].FieldsJSON has it, as it is there.
type fieldValue struct {
	plain plainText // zero if it is decoded
	v     reader.Value
}

// findField returns the field of an event with a name, as [reader.Event.Lookup] does.
func findField(ev *reader.Event, name string) (f fieldValue, found bool) {
	if ev.FieldsJSON == "" {
		f.v, found = ev.Lookup(name)
		return f, found
	}
	for fields := (plainMembers{ev.FieldsJSON}); ; {
		key, value, ok := fields.next()
		if !ok {
			break
		}
		if key.content() == name {
			return fieldValue{plain: value}, true
		}
	}
	if !strings.ContainsFunc(name, isSeparator) { // it names no field of a group, and none that is declared with another name
		return f, false
	}
	all, _ := reader.ParseJSON(ev.FieldsJSON)
	decoded := reader.Event{Fields: all.Fields()}
	f.v, found = decoded.Lookup(name)
	return f, found
}

func isSeparator(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// append appends the value as JSON, or as text.
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
	case f.v.Type() == reader.TypeString:
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
