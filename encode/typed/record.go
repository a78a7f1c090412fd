package typed

import (
	"iter"

	"github.com/userevents/userevents-go/internal/text"
)

// Record is a decoded record. It refers to the bytes that it was decoded from: it is good
// for as long as these do not change.
type Record struct {
	decoder *Decoder
	data    []byte
}

// Event returns the name of the event.
func (r Record) Event() string {
	if r.decoder == nil {
		return ""
	}
	return r.decoder.event
}

// Len returns the number of fields, without the common ones.
func (r Record) Len() int { return len(r.fields()) }

// Field returns the name and value of field i, counted from 0. It panics if i is not below Len.
func (r Record) Field(i int) (name string, v Value) {
	f := &r.fields()[i]
	return f.name, r.decoder.value(f, r.data)
}

// All returns the names and values of all fields, without the common ones, in order.
func (r Record) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		for i := range r.Len() {
			if !yield(r.Field(i)) {
				return
			}
		}
	}
}

// Lookup returns the value of the field with the name. With a decoder made by
// [NewFormatDecoder] it finds common fields as well, such as common_pid, the thread
// that wrote the record.
func (r Record) Lookup(name string) (v Value, found bool) {
	if r.decoder == nil {
		return Value{}, false
	}
	for i := range r.decoder.fields {
		if f := &r.decoder.fields[i]; f.name == name {
			return r.decoder.value(f, r.data), true
		}
	}
	return Value{}, false
}

func (r Record) fields() []decoderField {
	if r.decoder == nil {
		return nil
	}
	return r.decoder.own
}

// String returns the record as one line of text without a newline:
//
//	myapp_http_request: method=GET route=/users status=200 latency_ns=1500
//
// This is what perf script and trace-cmd report print, which follow the event's
// print format, and with the exceptions in the package comment. The
// text is always valid UTF-8 without control characters.
func (r Record) String() string {
	dst := append(text.AppendPrintable(nil, r.Event()), ':')
	for name, v := range r.All() {
		dst = append(dst, ' ')
		dst = append(text.AppendPrintable(dst, name), '=')
		dst = v.AppendTo(dst)
	}
	return string(dst)
}
