package cli

import (
	"os"
	"time"

	"github.com/userevents/userevents-go/cmd/uevents/internal/symbols"
	"github.com/userevents/userevents-go/internal/tool/tail"
	"github.com/userevents/userevents-go/reader"
	"github.com/userevents/userevents-go/record"
)

// source delivers records to a session: a reader.Reader of running programs, recordings, or one of these behind --when. Tests have their own.
type source interface {
	// Next returns the next selected record, io.EOF at the end, and os.ErrDeadlineExceeded after the deadline if none is ready.
	Next(ev *record.Record) error
	SetDeadline(t time.Time)
	// Stop makes Next return io.EOF after the records that are there. It may be called concurrently.
	Stop() error
	Stats() (reader.Stats, error)
	// AttachProcess attaches to a process that a COMMAND has started.
	AttachProcess(pid int)
	Close() error
}

// openLive attaches to the selected events.
func openLive(o *reader.Options) (source, error) {
	r, err := reader.Open(o)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// buffered returns a source that holds records for --when; without --when, the source itself.
func (f *tailFlags) buffered(s source) (source, error) {
	if f.o == nil {
		return s, nil
	}
	t := &tailed{source: s, symbols: f.symbols}
	var err error
	t.buffer, err = tail.New(*f.o)
	return t, err
}

type tailed struct {
	source

	buffer   *tail.Buffer
	symbols  *symbols.Table // nil without stacks
	ev       record.Record  // the one that was added last
	deadline time.Time
}

func (t *tailed) SetDeadline(at time.Time) {
	t.deadline = at
	t.source.SetDeadline(at)
}

func (t *tailed) Next(ev *record.Record) error {
	for n := 1; ; n++ {
		if through := t.buffer.Next(); through != nil {
			*ev = *through
			return nil
		}
		if n%256 == 0 && !t.deadline.IsZero() && !time.Now().Before(t.deadline) {
			return os.ErrDeadlineExceeded // the reader's is for the next record that is not ready
		}
		if err := t.source.Next(&t.ev); err != nil {
			return err
		}
		if t.symbols != nil {
			t.symbols.Stack(&t.ev) // the table keeps the names, also if the process ends while the record is held
		}
		t.buffer.Add(&t.ev)
	}
}

// bufferOf returns the Buffer of a source, nil without --when.
func bufferOf(s source) *tail.Buffer {
	if t, ok := s.(*tailed); ok {
		return t.buffer
	}
	return nil
}
