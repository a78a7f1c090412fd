package output

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/template"
	"time"

	"github.com/userevents/userevents-go/reader"
)

// templateWriter executes a template for each event, and appends a newline. The template gets the columns and the
// fields of the event by name, as texts that are safe to print. Missing ones are empty.
type templateWriter struct {
	w     io.Writer
	t     *template.Template
	named namedParts
	parts []templatePart // in place of t, if it is so simple
	line  limitedBuffer
	data  map[string]string
	c     clock
	b     []byte
}

// maxLine is the most bytes that a template may make of an event: a range over a large number would take all memory.
const maxLine = 16 << 20

// limitedBuffer refuses more than maxLine bytes.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxLine {
		return 0, fmt.Errorf("it makes more than %d MiB of one event", maxLine>>20)
	}
	return b.Buffer.Write(p)
}

func newTemplate(text string, w io.Writer, o Options) (*templateWriter, error) {
	if len(o.Fields) > 0 {
		return nil, fmt.Errorf("%w: a template selects the fields itself", errFormat)
	}
	t, err := compileTemplate(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFormat, err)
	}
	named := partsNamed(t)
	return &templateWriter{w: w, t: t, named: named, parts: simpleParts(t, len(named.names)), data: map[string]string{}, c: newClock(o)}, nil
}

func isTemplate(format string) bool { return strings.Contains(format, "{{") }

func compileTemplate(text string) (*template.Template, error) {
	return template.New("output").Option("missingkey=zero").Parse(text)
}

func (t *templateWriter) Write(ev *reader.Event) error {
	if t.parts != nil {
		return t.writeParts(ev)
	}
	clear(t.data)
	for _, name := range t.named.names {
		t.set(name, ev)
	}
	if t.named.all {
		for i := range ev.Fields {
			t.set(ev.Fields[i].Name, ev)
		}
		for fields := (plainMembers{ev.FieldsJSON}); ; {
			name, _, ok := fields.next()
			if !ok {
				break
			}
			t.set(name.content(), ev)
		}
		for i := range columns {
			t.set(columns[i].name, ev)
		}
	}
	t.line.Reset()
	if err := t.t.Execute(&t.line, t.data); err != nil {
		return fmt.Errorf("%w: %w", errFormat, err)
	}
	t.line.WriteByte('\n')
	_, err := t.w.Write(t.line.Bytes())
	return err
}

// writeParts writes a simple template, without the reflection that takes most of an execution.
func (t *templateWriter) writeParts(ev *reader.Event) error {
	t.b = t.b[:0]
	for i := range t.parts {
		p := &t.parts[i]
		if t.b = append(t.b, p.text...); p.name != "" {
			t.b = p.append(t.b, ev, &t.c, false)
		}
	}
	t.b = append(t.b, '\n')
	_, err := t.w.Write(t.b)
	return err
}

// set sets what the template gets by a name.
func (t *templateWriter) set(name string, ev *reader.Event) {
	s := selectedOf(name)
	if t.b = s.append(t.b[:0], ev, &t.c, false); len(t.b) > 0 {
		t.data[name] = string(t.b)
	}
}

func (t *templateWriter) Lost(string, uint64, time.Time) error { return nil }

func (t *templateWriter) Close() error { return nil }
