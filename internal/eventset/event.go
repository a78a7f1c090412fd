package eventset

import (
	"errors"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/payload"
	"github.com/userevents/userevents-go/uevents"
)

// Event is an event of a [Set].
type Event struct {
	*uevents.Event

	truncated atomic.Uint64
	refused   atomic.Uint64
}

// Stats counts what became of the records of an event. Calls while the event is disabled are not
// counted.
type Stats struct {
	Written   uint64 // the kernel took the record while a tracing tool was attached
	Truncated uint64 // of those, the ones of which texts or attributes were cut or dropped to fit the limit
	Disabled  uint64 // the event was disabled between the enabled check and the system call
	Refused   uint64 // by the kernel, or above the limit
}

// Write hands a record to the kernel, and reports whether the kernel took it; see [uevents.Event.WriteRecord]. truncated is how
// many of its values were cut. That the event was closed is no error: the program shuts down.
func (e *Event) Write(buf []byte, truncated int) (written bool, err error) {
	written, err = e.WriteRecord(buf)
	return written, e.wrote(written, truncated, err)
}

// wrote counts a record that was truncated, and returns the error of a write.
func (e *Event) wrote(written bool, truncated int, err error) error {
	if truncated == 0 && err == nil {
		return nil
	}
	return e.unusual(written, truncated, err)
}

func (e *Event) unusual(written bool, truncated int, err error) error {
	if written && truncated > 0 {
		e.truncated.Add(1)
	}
	if err != nil && errors.Is(err, uevents.ErrClosed) {
		return nil
	}
	return err
}

// WritePayload ends a payload, hands it to the kernel, and gives the buffer, which the payload was begun in, back to the
// pool. It reports whether the kernel took the record.
func (e *Event) WritePayload(b *payload.Builder, buf *[]byte) (written bool, err error) {
	out, truncated := b.End()
	written, err = e.WriteRecord(out)
	*buf = out
	bufpool.Put(buf)
	return written, e.wrote(written, truncated, err)
}

// WriteEncoded is WritePayload for a record of another encoder, which has returned out and err. A record that could not be
// encoded counts as refused.
func (e *Event) WriteEncoded(out []byte, truncated int, err error, buf *[]byte) error {
	if err != nil {
		e.refused.Add(1)
	} else {
		_, err = e.Write(out, truncated)
	}
	*buf = out
	bufpool.Put(buf)
	return err
}

// Stats returns the event's counts.
func (e *Event) Stats() Stats {
	n := e.Event.Stats()
	return Stats{
		Written:   n.Written,
		Truncated: e.truncated.Load(),
		Disabled:  n.Disabled,
		Refused:   n.Refused + e.refused.Load(),
	}
}

// Add returns the sums of two events' counts.
func (n Stats) Add(more Stats) Stats {
	n.Written += more.Written
	n.Truncated += more.Truncated
	n.Disabled += more.Disabled
	n.Refused += more.Refused
	return n
}

// Stats returns the counts of each event, by its name.
func (s *Set) Stats() map[string]Stats {
	stats := make(map[string]Stats, len(s.events))
	for _, e := range s.events {
		stats[e.Name()] = stats[e.Name()].Add(e.Stats()) // a name that was registered twice is an error, but stays one name
	}
	return stats
}

// Total adds the counts of all events up.
func (s *Set) Total() (n Stats) {
	for _, e := range s.events {
		n = n.Add(e.Stats())
	}
	return n
}
