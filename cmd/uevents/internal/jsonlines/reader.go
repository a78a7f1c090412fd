// Package jsonlines reads events that package output has written as JSON, one object on a line.
package jsonlines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/userevents/userevents-go/reader"
)

// maxLine is how long a line may be. No record makes one that is as long.
const maxLine = 16 << 20

// ErrFormat is wrapped by the errors about lines that are not as package output writes them.
var ErrFormat = errors.New("not a record as uevents writes it")

// Reader reads events from a file. It is not safe for concurrent use.
type Reader struct {
	// Lost is called for lines that say that the kernel lost records. nil ignores them.
	Lost func(name string, n uint64, at time.Time) error

	lines   *bufio.Reader
	number  int
	process *reader.Process
}

// NewReader returns a Reader of a file.
func NewReader(r io.Reader) *Reader { return &Reader{lines: bufio.NewReaderSize(r, 64<<10)} }

// Next reads the next event. It returns [io.EOF] at the end of the file, and goes on after an error that wraps ErrFormat,
// which names the line. A last line without an end, as a recording has that was killed, is such an error.
//
// What JSON does not tell apart comes back as what it looks like: bytes are base64 texts, a float without fraction is an integer.
func (r *Reader) Next(ev *reader.Event) error {
	for {
		line, err := r.line()
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		v, ok := reader.ParseJSON(string(line)) // a copy, which the event refers to
		if !ok || v.Type() != reader.TypeMap {
			return r.malformed(errors.New("no JSON object"))
		}
		if kind, _ := v.Lookup("kind"); kind.Text() == kindLost {
			if err := r.lost(v); err != nil {
				return err
			}
			continue
		}
		*ev = reader.Event{}
		if err := r.set(ev, v); err != nil {
			return r.malformed(err)
		}
		return nil
	}
}

func (r *Reader) malformed(err error) error {
	return fmt.Errorf("line %d: %w: %w", r.number, ErrFormat, err)
}

// line returns the next line without its end.
func (r *Reader) line() ([]byte, error) {
	r.number++
	line, err := r.lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = r.lines.ReadSlice('\n')
			if len(long) <= maxLine {
				long = append(long, line...)
			}
		}
		if line = long; len(line) > maxLine {
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

// kindLost is the kind of lines about records that the kernel lost.
const kindLost = "lost"

func (r *Reader) lost(v reader.Value) error {
	at, _ := v.Lookup("time")
	t, err := parseTime(at)
	if err != nil {
		return r.malformed(err)
	}
	name, _ := v.Lookup("event")
	count, _ := v.Lookup("count")
	if r.Lost == nil {
		return nil
	}
	return r.Lost(name.Text(), count.Uint64(), t)
}
