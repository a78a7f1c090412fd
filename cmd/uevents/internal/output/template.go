package output

import (
	"bytes"
	"fmt"
	"io"
	"text/template"
	"time"

	"github.com/userevents/userevents-go/reader"
)

// templateWriter executes a template for each event, and appends a newline. The template gets the columns and the
// fields of the event by name, as texts that are safe to print. Missing ones are empty.
type templateWriter struct {
	w    io.Writer
	t    *template.Template
	line limitedBuffer
	data map[string]string
	c    clock
	b    []byte
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
	t, err := template.New("output").Option("missingkey=zero").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFormat, err)
	}
	return &templateWriter{w: w, t: t, data: map[string]string{}, c: clock{format: o.Time}}, nil
}

func (t *templateWriter) Write(ev *reader.Event) error {
	clear(t.data)
	for i := range ev.Fields {
		f := &ev.Fields[i]
		t.data[f.Name] = string(f.Value.AppendText(t.b[:0]))
	}
	for i := range columns {
		if t.b = columns[i].append(t.b[:0], ev, &t.c, false); len(t.b) > 0 {
			t.data[columns[i].name] = string(t.b)
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

func (t *templateWriter) Lost(string, uint64, time.Time) error { return nil }

func (t *templateWriter) Close() error { return nil }
