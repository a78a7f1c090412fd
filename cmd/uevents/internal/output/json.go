package output

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/record"
)

// jsonWriter writes each event as one JSON object on one line: that of [record.Encoder], or the selected members, and the functions
// of the stack.
type jsonWriter struct {
	w      io.Writer
	b      []byte
	c      clock
	fields []jsonField    // in place of all columns
	stack  *symbols.Table // nil omits stacks
}

func newJSON(w io.Writer, o Options) *jsonWriter {
	j := &jsonWriter{w: w, c: clock{format: UTC}, stack: o.Stack}
	for _, name := range o.Fields {
		j.fields = append(j.fields, jsonField{append(attrjson.AppendString([]byte{','}, name), ':'), selectedOf(name)})
	}
	return j
}

func (j *jsonWriter) Write(ev *record.Record) error {
	b := j.b[:0]
	if len(j.fields) == 0 {
		b = j.c.encoder.Append(b, ev)
	} else {
		b = j.appendSelected(b, ev)
	}
	if j.stack != nil {
		b = appendStack(b, j.stack.Stack(ev))
	}
	return j.line(b)
}

// appendSelected appends an object of the selected columns and fields that the event has.
func (j *jsonWriter) appendSelected(b []byte, ev *record.Record) []byte {
	for i := range j.fields {
		f := &j.fields[i]
		start := len(b)
		b = append(b, f.key...)
		value := len(b)
		if b = f.append(b, ev, &j.c, true); len(b) == value {
			b = b[:start]
		}
	}
	if len(b) == 0 {
		return append(b, "{}"...)
	}
	b[0] = '{'
	return append(b, '}')
}

// appendStack adds a member to an object.
func appendStack(b []byte, frames []symbols.Frame) []byte {
	if len(frames) == 0 {
		return b
	}
	b = b[:len(b)-len(`}`)]
	if len(b) > len(`{`) {
		b = append(b, ',')
	}
	b = append(b, `"stack":[`...)
	for i := range frames {
		f := &frames[i]
		if i > 0 {
			b = append(b, ',')
		}
		if f.Func != "" {
			b = attrjson.AppendString(append(b, `{"function":`...), f.Func)
		} else {
			b = fmt.Appendf(b, `{"address":"%#x"`, f.Addr)
		}
		if f.File != "" {
			b = attrjson.AppendString(append(b, `,"file":`...), f.File)
			b = strconv.AppendInt(append(b, `,"line":`...), int64(f.Line), 10)
		} else if f.Object != "" {
			b = attrjson.AppendString(append(b, `,"object":`...), f.Object)
		}
		b = append(b, '}')
	}
	return append(b, "]}"...)
}

// line writes an object.
func (j *jsonWriter) line(b []byte) error {
	j.b = append(b, '\n')
	_, err := j.w.Write(j.b)
	return err
}

// kindLost is the kind of a line about lost records.
const kindLost = "lost"

func (j *jsonWriter) Lost(name string, n uint64, at time.Time) error {
	return j.line(record.AppendJSON(j.b[:0], []record.Field{
		{Name: "time", Value: record.StringValue(at.UTC().Format(timeLayout))},
		{Name: "kind", Value: record.StringValue(kindLost)},
		{Name: "event", Value: record.StringValue(name)},
		{Name: "count", Value: record.Uint64Value(n)},
	}))
}

// timeLayout has all nine digits of the nanoseconds, so that texts sort like times.
const timeLayout = "2006-01-02T15:04:05.000000000Z"

// Lost has the arguments of [Writer].Lost.
type Lost struct {
	Name  string
	Count uint64
	Time  time.Time
}

// ParseLost returns what a line about lost records says, or nil if it is no such line.
func ParseLost(line []byte) (*Lost, error) {
	v, _ := record.ParseJSON(string(line))
	if kind, _ := v.Lookup("kind"); kind.Text() != kindLost {
		return nil, nil
	}
	name, _ := v.Lookup("event")
	count, _ := v.Lookup("count")
	when, _ := v.Lookup("time")
	at, err := time.Parse(time.RFC3339Nano, when.Text())
	if err != nil {
		return nil, fmt.Errorf("no time: %s", when)
	}
	return &Lost{name.Text(), count.Uint64(), at.UTC()}, nil
}

func (j *jsonWriter) Close() error { return nil }

type jsonField struct {
	key []byte // a comma, the name and a colon
	selected
}
