// Package output writes decoded events for people and for programs: as lines of text, as JSON, as the bytes that were
// recorded, and by a template of the user's. Formats of files are packages of their own that implement [Writer].
package output

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/reader"
)

// Writer writes events in some format. Its methods are called by one goroutine at a time.
type Writer interface {
	// Write writes an event, which is only valid during the call.
	Write(ev *reader.Event) error
	// Lost notes that the kernel lost n records of an event, SYSTEM:NAME, until the time at. Formats without a place for
	// it ignore it.
	Lost(name string, n uint64, at time.Time) error
	// Close writes what is buffered. It does not close the destination.
	Close() error
}

// Options are choices of how events are written. The zero value has the default of each.
type Options struct {
	Time   Time     // of Text and templates
	Color  bool     // of Text
	Fields []string // that are written, and no others: names of columns, or else of fields of events
	// Stack adds the functions on the stacks of events that have one, in text as lines below the event; nil means that
	// they are left out.
	Stack *symbols.Table
}

// ErrFormat is wrapped by the errors about formats, fields and templates that do not exist.
var ErrFormat = errors.New("bad output format")

// New returns a Writer of the format text, json, raw, or a template of package text/template, which is known by its
// braces. It writes each event by one call of w.Write.
func New(format string, w io.Writer, o Options) (Writer, error) {
	switch {
	case o.Stack != nil && format != "" && format != "text" && format != "json":
		return nil, fmt.Errorf("%w: stacks are written as text and json", ErrFormat)
	case strings.Contains(format, "{{"):
		return newTemplate(format, w, o)
	case format == "" || format == "text":
		return newText(w, o), nil
	case format == "json":
		return newJSON(w, o), nil
	case format == "raw":
		if len(o.Fields) > 0 {
			return nil, fmt.Errorf("%w: raw records have no fields to select", ErrFormat)
		}
		return &raw{w: w, o: o}, nil
	}
	return nil, fmt.Errorf("%w %q: text, json, raw, or a template such as '{{.time}} {{.message}}'", ErrFormat, format)
}
