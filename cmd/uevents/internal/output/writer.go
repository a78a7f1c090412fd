// Package output writes decoded events as lines of text, as JSON, as raw bytes, and with a template. Packages of their
// own implement [Writer] for file formats.
package output

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/record"
	"github.com/userevents/userevents-go/tracepoint"
)

// Writer writes events in a format. One goroutine at a time calls its methods.
type Writer interface {
	// Write writes an event, which is only valid during the call.
	Write(ev *record.Record) error
	// Lost reports that the kernel lost n records of an event, SYSTEM:NAME, up to the time at. Formats that cannot
	// represent this ignore it.
	Lost(name string, n uint64, at time.Time) error
	// Close writes the buffered data. It does not close the destination.
	Close() error
}

// Options configure a Writer. The zero value means the default of each.
type Options struct {
	Time Time // of Text and templates
	// Today makes Text and templates have the date before times of day, from the first time of another day on. The zero time
	// omits dates.
	Today time.Time
	Color bool // of Text
	// Whole makes Text have ids, names and labels with all their characters, the ids of spans too, and none padded: a line that
	// depends on its record alone, for a search.
	Whole  bool
	Fields []string // columns or fields to write, in place of all
	// Stack adds the functions of the events' stacks, as lines below the event in text; nil omits them.
	Stack *symbols.Table
}

// errFormat reports an unknown format or field, or an invalid template. Errors of [New] wrap it.
var errFormat = errors.New("bad output format")

// New returns a Writer for a format: text, json, raw, or a template of package text/template, which contains braces. It
// writes each event with one call of w.Write.
func New(format string, w io.Writer, o Options) (Writer, error) {
	switch {
	case o.Stack != nil && format != "" && format != "text" && format != "json":
		return nil, fmt.Errorf("%w: stacks are written as text and json", errFormat)
	case isTemplate(format):
		return newTemplate(format, w, o)
	case format == "" || format == "text":
		return newText(w, o), nil
	case format == "json":
		return newJSON(w, o), nil
	case format == "raw":
		if len(o.Fields) > 0 {
			return nil, fmt.Errorf("%w: raw records have no fields to select", errFormat)
		}
		return &raw{w: w, c: newClock(o)}, nil
	}
	return nil, fmt.Errorf("%w %q: text, json, raw, or a template such as '{{.time}} {{.message}}'", errFormat, format)
}

// raw writes the undecoded payload of each record in hexadecimal, after the name of its event:
//
//	20:41:07.318 user_events:myapp_debug myapp[812] cpu 3 0100000048...
//
// Records in shared memory have no CPU, but -.
type raw struct {
	w io.Writer
	b []byte
	c clock
}

func (r *raw) Write(ev *record.Record) error {
	b := r.c.append(r.b[:0], ev.Time, ev.Monotonic)
	b = append(b, ' ')
	b = appendText(b, ev.System)
	b = append(b, ':')
	b = appendText(b, ev.Name)
	b = append(b, ' ')
	b = AppendProcess(b, process(ev).Comm, ev.PID)
	b = append(b, " cpu "...)
	if ev.CPU < 0 {
		b = append(b, '-')
	} else {
		b = strconv.AppendInt(b, int64(ev.CPU), 10)
	}
	b = append(b, ' ')
	b = hex.AppendEncode(b, ev.Raw[min(len(ev.Raw), tracepoint.CommonSize):])
	r.b = append(b, '\n')
	_, err := r.w.Write(r.b)
	return err
}

func (r *raw) Lost(string, uint64, time.Time) error { return nil }

func (r *raw) Close() error { return nil }
