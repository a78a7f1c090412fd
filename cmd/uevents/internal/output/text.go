package output

import (
	"encoding/hex"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/reader"
)

// textWriter writes a line for each event:
//
//	20:41:07.318 DEBUG myapp[812] cache miss               key=user:41 shard=3
//	20:41:07.320 SPAN  myapp[812] GET /users/{id} 12.4ms   status=error trace=4bf92f35
//
// Each event is one line of printable characters, for any bytes that programs write. With stacks, each function is such
// a line below the event.
type textWriter struct {
	w      io.Writer
	b      []byte
	c      clock
	color  bool
	fields []string
	stack  *symbols.Table // nil omits stacks
}

func newText(w io.Writer, o Options) *textWriter {
	return &textWriter{w: w, c: clock{format: o.Time}, color: o.Color, fields: o.Fields, stack: o.Stack}
}

// messageWidth is the minimum width of messages, so that the fields after short ones are aligned.
const messageWidth = 22

func (t *textWriter) Write(ev *reader.Event) error {
	t.b = t.b[:0]
	if len(t.fields) > 0 {
		t.selected(ev)
	} else {
		t.line(ev)
	}
	t.b = append(t.b, '\n')
	if t.stack != nil {
		if frames := t.stack.Stack(ev); len(frames) > 0 {
			t.colored(Faint, func() { t.b = symbols.AppendStack(t.b, frames, "    ") })
		}
	}
	_, err := t.w.Write(t.b)
	return err
}

func (t *textWriter) line(ev *reader.Event) {
	t.colored(Faint, func() { t.b = t.c.append(t.b, ev.Time, ev.Monotonic) })
	t.b = append(t.b, ' ')
	t.colored(colorOf(ev), func() { t.b = appendLabel(t.b, ev) })
	t.b = append(t.b, ' ')
	t.b = AppendProcess(t.b, process(ev).Comm, ev.PID)
	t.b = append(t.b, ' ')
	start := len(t.b)
	t.b = appendTitle(t.b, ev)
	end := len(t.b)
	for n := utf8.RuneCount(t.b[start:end]); n < messageWidth; n++ {
		t.b = append(t.b, ' ')
	}
	padded := len(t.b)
	if ev.Status != 0 {
		t.field("status", reader.StringValue(ev.Status.String()))
	}
	if ev.StatusMessage != "" {
		t.field("error", reader.StringValue(ev.StatusMessage))
	}
	for i := range ev.Fields {
		t.field(ev.Fields[i].Name, ev.Fields[i].Value)
	}
	if !isZero(ev.TraceID[:]) {
		t.b = append(t.b, ' ')
		t.colored(Faint, func() { t.b = hex.AppendEncode(append(t.b, "trace="...), ev.TraceID[:4]) })
	}
	if ev.Truncated != 0 {
		t.field("truncated", reader.Int64Value(int64(ev.Truncated)))
	}
	if ev.Undecodable {
		t.field("undecodable", reader.BoolValue(true))
	}
	if len(t.b) == padded {
		t.b = t.b[:end]
	}
}

// colored writes a part of the line in a colour.
func (t *textWriter) colored(color string, write func()) {
	if !t.color || color == "" {
		write()
		return
	}
	t.b = append(t.b, color...)
	write()
	t.b = append(t.b, reset...)
}

func (t *textWriter) field(name string, v reader.Value) {
	t.b = append(t.b, ' ')
	t.colored(Faint, func() {
		t.b = appendWord(t.b, name)
		t.b = append(t.b, '=')
	})
	if v.Type() == reader.TypeString {
		t.b = appendWord(t.b, v.Text())
		return
	}
	t.b = v.AppendText(t.b)
}

// appendWord appends a text, with quotes if it could be read as several words or as another value.
func appendWord(b []byte, s string) []byte {
	if s == "" || strings.ContainsAny(s, " =\"{[") {
		return attrjson.AppendString(b, s)
	}
	return appendText(b, s)
}

// appendLabel appends the severity or the kind of the event, at least five columns wide.
func appendLabel(b []byte, ev *reader.Event) []byte {
	start := len(b)
	switch {
	case ev.Severity != 0:
		b = append(b, ev.Severity.String()...)
	case ev.Kind == reader.KindLog && ev.SeverityText != "":
		b = appendText(b, ev.SeverityText)
	default:
		b = append(b, labels[ev.Kind]...)
	}
	for len(b)-start < 5 {
		b = append(b, ' ')
	}
	return b
}

var labels = [...]string{
	reader.KindOther: "-", reader.KindLog: "LOG", reader.KindSpan: "SPAN", reader.KindSpanStart: "START", reader.KindSpanEvent: "EVENT",
	reader.KindSpanLink: "LINK", reader.KindMetric: "METRIC",
}

// appendTitle appends the message of the event, or else its name.
func appendTitle(b []byte, ev *reader.Event) []byte {
	switch {
	case ev.Message != "":
		b = appendText(b, ev.Message)
	case ev.EventName != "":
		b = appendText(b, ev.EventName)
	default:
		b = appendText(b, ev.Name)
	}
	switch ev.Kind {
	case reader.KindSpan:
		b = AppendDuration(append(b, ' '), ev.Duration)
	case reader.KindMetric:
		if ev.Point != nil {
			b = appendPoint(append(b, ' '), ev.Point)
		}
	case reader.KindSpanLink:
		b = hex.AppendEncode(append(b, " to "...), ev.LinkedTraceID[:4])
	}
	return b
}

// selected writes the selected columns as values, and selected fields with their names.
func (t *textWriter) selected(ev *reader.Event) {
	for _, name := range t.fields {
		start := len(t.b)
		if start > 0 {
			t.b = append(t.b, ' ')
		}
		if col := columnOf[name]; col != nil {
			value := len(t.b)
			if t.b = col.append(t.b, ev, &t.c, false); len(t.b) > value {
				continue
			}
		}
		t.b = t.b[:start]
		if v, ok := ev.Lookup(name); ok {
			t.field(name, v)
			if start == 0 {
				t.b = t.b[1:]
			}
		}
	}
}

func (t *textWriter) Lost(string, uint64, time.Time) error { return nil }

func (t *textWriter) Close() error { return nil }
