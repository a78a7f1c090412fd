// Package jsonlines reads events from JSON lines that package output has written.
package jsonlines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/output"
	"github.com/userevents/userevents-go/record"
)

// maxLine limits the length of a line. The lines of all records are shorter. A decoded line takes many times its size.
const maxLine = 2 << 20

// ErrFormat reports a line that package output does not write. Errors of [Reader.Next] wrap it.
var ErrFormat = errors.New("not a record as uevents writes it")

// Reader reads events from a file. It is not safe for concurrent use.
type Reader struct {
	// Lost receives the lines about lost records. nil ignores them.
	Lost func(name string, n uint64, at time.Time) error
	// Unwanted reports whether records of a time are omitted: Next does not decode the rest of their lines, which would take most of the
	// time. It is not called for lines that do not begin with a time as package output writes it. nil omits none.
	Unwanted func(at time.Time) bool

	lines  *bufio.Reader
	long   []byte // a line that is longer than the buffer of lines
	number int
	parser record.Parser
}

// NewReader returns a Reader of a file.
func NewReader(r io.Reader) *Reader {
	return &Reader{lines: bufio.NewReaderSize(r, 64<<10)}
}

// Next reads the next event. It returns [io.EOF] at the end of the file. After an error that wraps ErrFormat, which has
// the number of the line, it continues with the next line. An incomplete last line, as in the recording of a killed
// process, is such an error.
//
// ev is valid until the next call: see [record.Parser.Parse]. Types that JSON does not have change: bytes become base64 texts, and a float
// without fraction becomes an integer.
func (r *Reader) Next(ev *record.Record) error {
	for {
		line, err := r.line()
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if r.Unwanted != nil { // else the time is parsed with the rest
			if at, ok := timeOf(line); ok && r.Unwanted(at) {
				continue
			}
		}
		malformed := r.parser.Parse(line, ev)
		if malformed == nil {
			return nil
		}
		lost, err := output.ParseLost(line)
		if err != nil {
			return r.malformed(err)
		}
		if lost == nil {
			return r.malformed(malformed)
		}
		if r.Lost != nil {
			if err := r.Lost(lost.Name, lost.Count, lost.Time); err != nil {
				return err
			}
		}
	}
}

// timeOf returns the time of a line, if it is at its beginning, and the line is one of a record.
func timeOf(line []byte) (time.Time, bool) {
	const begin, layout = `{"time":"`, "2006-01-02T15:04:05.000000000Z"
	rest, ok := bytes.CutPrefix(line, []byte(begin))
	if !ok || len(rest) < len(layout) || bytes.HasPrefix(rest[len(layout):], []byte(`","kind":"lost"`)) {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(rest[:len(layout)]))
	return at, err == nil
}

func (r *Reader) malformed(err error) error {
	return fmt.Errorf("line %d: %w: %w", r.number, ErrFormat, err)
}

// line returns the next line without its end. It is valid until the next call.
func (r *Reader) line() ([]byte, error) {
	r.number++
	line, err := r.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		r.long = append(r.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = r.lines.ReadSlice('\n')
			if len(r.long) <= maxLine {
				r.long = append(r.long, line...)
			}
		}
		if line = r.long; len(line) > maxLine {
			return nil, r.malformed(fmt.Errorf("longer than %d bytes", maxLine))
		}
	}
	if errors.Is(err, io.EOF) && len(line) > 0 {
		return nil, r.malformed(errors.New("the line has no end"))
	}
	if err != nil {
		return nil, err
	}
	return line[:len(line)-1], nil
}
