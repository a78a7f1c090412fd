package filter

import (
	"errors"
	"slices"
	"testing"

	"github.com/userevents/userevents-go/tracepoint"
)

// FuzzFilter: exactly one of filter and error; errors are about a place in the text; an accepted filter does not match where its
// negation does, and reads no byte outside of a record.
func FuzzFilter(f *testing.F) {
	raw := sampleRecord().Raw
	for text := range matches {
		f.Add(text, raw)
	}
	for text := range refusals {
		f.Add(text, raw[:tracepoint.CommonSize+declaration.FixedSize()])
	}
	format := formatOf(declaration)
	f.Fuzz(func(t *testing.T, text string, raw []byte) {
		filter, err := bind(text, format)
		if (filter == nil) == (err == nil) {
			t.Fatal("exactly one of filter and error")
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.At < 0 || e.At > len(text) || e.Text != text || e.Problem == "" {
				t.Fatalf("%#v", err)
			}
			return
		}
		r := &Record{Raw: slices.Clip(raw), Comm: "fuzz"}
		matched := filter.Match(r)
		if len(text)+len("!()") > maxText {
			return
		}
		not, err := bind("!("+text+")", format)
		if err != nil {
			t.Fatal(err)
		}
		if complete := len(raw) >= tracepoint.CommonSize+declaration.FixedSize(); matched == not.Match(r) && (matched || complete) {
			t.Fatalf("%q matches: %v, and so does its negation", text, matched)
		}
	})
}
