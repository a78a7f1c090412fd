package output

import (
	"cmp"
	"encoding/hex"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/record"
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
	whole  bool
	fields []selected
	stack  *symbols.Table // nil omits stacks

	label   gutter
	process gutter
	writer  processText // of the previous event
}

func newText(w io.Writer, o Options) *textWriter {
	t := &textWriter{w: w, c: newClock(o), color: o.Color, whole: o.Whole, stack: o.Stack, label: minLabel}
	for _, name := range o.Fields {
		t.fields = append(t.fields, selectedOf(name))
	}
	return t
}

// messageWidth is the minimum width of messages, so that the fields after short ones are aligned.
const messageWidth = 22

func (t *textWriter) Write(ev *record.Record) error {
	b := t.b[:0]
	if len(t.fields) > 0 {
		b = t.selected(b, ev)
	} else {
		b = t.line(b, ev)
	}
	b = append(b, '\n')
	if t.stack != nil {
		if frames := t.stack.Stack(ev); len(frames) > 0 {
			b = t.off(symbols.AppendStack(t.on(b, Faint), frames, "    "), Faint)
		}
	}
	t.b = b
	_, err := t.w.Write(b)
	return err
}

func (t *textWriter) line(b []byte, ev *record.Record) []byte {
	b = append(t.off(t.c.append(t.on(b, Faint), ev.Time, ev.Monotonic), Faint), ' ')
	b = append(t.appendLabel(b, ev), ' ')
	b = append(t.appendProcess(b, ev), ' ')
	start := len(b)
	b = t.appendTitle(b, ev)
	end := len(b)
	if n := utf8.RuneCount(b[start:]); n < messageWidth {
		b = append(b, "                      "[n:]...)
	}
	padded := len(b)
	if ev.Status != 0 {
		b = t.field(b, "status", record.StringValue(ev.Status.String()))
	}
	if ev.StatusMessage != "" {
		b = t.field(b, "error", record.StringValue(ev.StatusMessage))
	}
	if json := ev.FieldsJSON(); json != "" {
		b = t.plainFields(b, json)
	} else {
		fields := ev.Fields()
		for i := range fields {
			b = t.field(b, fields[i].Name, fields[i].Value)
		}
	}
	b = t.appendIDs(b, ev)
	if ev.Truncated != 0 {
		b = t.field(b, "truncated", record.Int64Value(int64(ev.Truncated)))
	}
	if ev.Undecodable {
		b = t.field(b, "undecodable", record.BoolValue(true))
	}
	if len(b) == padded {
		b = b[:end]
	}
	return b
}

// on begins a part of the line in a colour, which off ends.
func (t *textWriter) on(b []byte, color string) []byte {
	if t.color {
		b = append(b, color...)
	}
	return b
}

func (t *textWriter) off(b []byte, color string) []byte {
	if t.color && color != "" {
		b = append(b, reset...)
	}
	return b
}

func (t *textWriter) field(b []byte, name string, v record.Value) []byte {
	f := fieldValue{v: v}
	return f.appendWord(t.name(b, name))
}

func (t *textWriter) name(b []byte, name string) []byte {
	b = t.on(append(b, ' '), Faint)
	return t.off(append(appendWord(b, name), '='), Faint)
}

func (t *textWriter) plainFields(b []byte, json string) []byte {
	for fields := (plainMembers{json}); ; {
		name, value, ok := fields.next()
		if !ok {
			return b
		}
		b = t.on(append(b, ' '), Faint)
		b = t.off(append(name.appendWord(b), '='), Faint)
		b = value.appendWord(b)
	}
}

// appendIDs appends the beginning of the trace id. A whole line has all of it, and those of the span and its parent.
func (t *textWriter) appendIDs(b []byte, ev *record.Record) []byte {
	n := 4
	if t.whole {
		n = len(ev.TraceID)
	}
	if ev.TraceID != [16]byte{} {
		b = t.id(b, " trace=", ev.TraceID[:n])
	}
	if t.whole && ev.SpanID != [8]byte{} {
		b = t.id(b, " span=", ev.SpanID[:])
	}
	if t.whole && ev.ParentSpanID != [8]byte{} {
		b = t.id(b, " parent=", ev.ParentSpanID[:])
	}
	return b
}

func (t *textWriter) id(b []byte, name string, id []byte) []byte {
	return t.off(hex.AppendEncode(append(t.on(append(b, name[0]), Faint), name[1:]...), id), Faint)
}

// appendTitle appends the message of the event, or else its name.
func (t *textWriter) appendTitle(b []byte, ev *record.Record) []byte {
	switch {
	case ev.Message != "":
		b = appendText(b, ev.Message)
	case ev.EventName != "":
		b = appendText(b, ev.EventName)
	default:
		b = appendText(b, ev.Name)
	}
	switch ev.Kind {
	case record.KindSpan:
		b = AppendDuration(append(b, ' '), ev.Duration)
	case record.KindMetric:
		if ev.Point != nil {
			b = appendPoint(append(b, ' '), ev.Point)
		}
	case record.KindSpanLink:
		b = append(b, " to "...)
		if !t.whole {
			return hex.AppendEncode(b, ev.LinkedTraceID[:4])
		}
		b = append(hex.AppendEncode(b, ev.LinkedTraceID[:]), '-')
		b = hex.AppendEncode(b, ev.LinkedSpanID[:])
	}
	return b
}

// selected appends the selected columns as values, which are - where the record lacks them, and selected fields with their names.
func (t *textWriter) selected(b []byte, ev *record.Record) []byte {
	for i := range t.fields {
		f := &t.fields[i]
		start := len(b)
		if start > 0 {
			b = append(b, ' ')
		}
		value := len(b)
		if b = f.appendColumn(b, ev, &t.c, false); len(b) > value {
			continue
		}
		b = b[:start]
		if v, ok := findField(ev, f.name); ok {
			b = v.appendWord(t.name(b, f.name))
			if start == 0 {
				b = b[1:]
			}
		} else if f.col != nil || f.part != nil {
			b = append(b[:value], '-')
		}
	}
	return b
}

func (t *textWriter) Lost(string, uint64, time.Time) error { return nil }

func (t *textWriter) Close() error { return nil }

// Labels, such as INFO or a program's own NOTICE, are cut to maxLabel bytes, and the names of programs to maxProgram: the kernel keeps
// 15, which escapes make longer, and a recording may have any.
const (
	minLabel, maxLabel = 5, 10
	maxProgram         = 20
)

// gutter is a column of text that keeps its place: it is as wide as the widest text was until now.
type gutter int

func (g *gutter) pad(b []byte, n int) []byte {
	*g = max(*g, gutter(n))
	for ; n < int(*g); n++ {
		b = append(b, ' ')
	}
	return b
}

// processText caches the text of the process of an event.
type processText struct {
	text    []byte // empty: none
	width   int
	process *record.Process
	pid     int32
}

// appendLabel appends the severity or the kind of the event.
func (t *textWriter) appendLabel(b []byte, ev *record.Record) []byte {
	color := ""
	if t.color {
		color = colorOf(ev)
	}
	b = t.on(b, color)
	start := len(b)
	switch {
	case ev.Severity != 0:
		b = append(b, ev.Severity.String()...)
	case ev.Kind == record.KindLog && ev.SeverityText != "":
		b = t.upTo(b, ev.SeverityText, maxLabel)
	default:
		b = append(b, labels[ev.Kind]...)
	}
	label := t.label
	b = label.pad(b, utf8.RuneCount(b[start:]))
	if !t.whole {
		t.label = label
	}
	return t.off(b, color)
}

// upTo appends a text of a program in at most n bytes, unless lines are whole.
func (t *textWriter) upTo(b []byte, s string, n int) []byte {
	if t.whole {
		n = attrjson.NoLimit
	}
	b, _ = text.Append(b, s, n)
	return b
}

// appendProcess appends NAME[PID].
func (t *textWriter) appendProcess(b []byte, ev *record.Record) []byte {
	w := &t.writer
	if len(w.text) == 0 || w.process != ev.Process || w.pid != ev.PID {
		w.process, w.pid = ev.Process, ev.PID
		w.text = appendPID(t.upTo(w.text[:0], cmp.Or(process(ev).Comm, "?"), maxProgram), ev.PID)
		w.width = utf8.RuneCount(w.text)
	}
	b = append(b, w.text...)
	if t.whole {
		return b
	}
	return t.process.pad(b, w.width)
}

var labels = [...]string{
	record.KindOther: "-", record.KindLog: "LOG", record.KindSpan: "SPAN", record.KindSpanStart: "START", record.KindSpanEvent: "EVENT",
	record.KindSpanLink: "LINK", record.KindMetric: "METRIC",
}

// Colors of [Paint] and sequences that move the cursor. All are ECMA-48, which terminals of all kinds know.
const (
	Faint  = "\x1b[2m"
	Red    = "\x1b[31m"
	Green  = "\x1b[32m"
	Yellow = "\x1b[33m"

	// ClearLine clears from the cursor to the end of the line, ClearScreen moves the cursor to the top left corner and clears
	// the screen.
	ClearLine   = "\x1b[K"
	ClearScreen = "\x1b[H\x1b[J"

	bold  = "\x1b[1m"
	cyan  = "\x1b[36m"
	reset = "\x1b[0m"
)

// UseColor says whether what is written is coloured: mode is always, never, or auto, which is on a terminal that knows
// colours unless NO_COLOR (https://no-color.org) is set.
func UseColor(mode string, terminal bool) bool {
	return mode == "always" || mode == "auto" && terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Paint returns a text in a color if colors are in use: see [UseColor].
func Paint(use bool, color, s string) string {
	if !use {
		return s
	}
	return color + s + reset
}

// colorOf returns the colour of the column that says how serious an event is.
func colorOf(ev *record.Record) string {
	switch s := ev.Severity; {
	case s >= record.SeverityFatal:
		return bold + Red
	case s >= record.SeverityError || ev.Status == record.StatusError:
		return Red
	case s >= record.SeverityWarn:
		return Yellow
	case s >= record.SeverityInfo:
		return Green
	case s > 0:
		return Faint
	case ev.Kind == record.KindOther:
		return ""
	}
	return cyan
}
