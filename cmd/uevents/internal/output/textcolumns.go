package output

import (
	"cmp"
	"unicode/utf8"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/text"
	"github.com/userevents/userevents-go/reader"
)

// Labels, such as INFO or a program's own NOTICE, are cut to maxLabel bytes, and the names of programs to maxProgram: the kernel keeps
// 15, which escapes make longer, and a recording may have any.
const (
	minLabel, maxLabel = 5, 10
	maxProgram         = 20
)

// gutter is a column of text that keeps its place: it is as wide as the widest text was until now.
type gutter int

// pad appends spaces behind a text of n characters.
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
	process *reader.Process
	pid     int32
}

// appendLabel appends the severity or the kind of the event.
func (t *textWriter) appendLabel(b []byte, ev *reader.Event) []byte {
	color := ""
	if t.color {
		color = colorOf(ev)
	}
	b = t.on(b, color)
	start := len(b)
	switch {
	case ev.Severity != 0:
		b = append(b, ev.Severity.String()...)
	case ev.Kind == reader.KindLog && ev.SeverityText != "":
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
func (t *textWriter) appendProcess(b []byte, ev *reader.Event) []byte {
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
	reader.KindOther: "-", reader.KindLog: "LOG", reader.KindSpan: "SPAN", reader.KindSpanStart: "START", reader.KindSpanEvent: "EVENT",
	reader.KindSpanLink: "LINK", reader.KindMetric: "METRIC",
}
