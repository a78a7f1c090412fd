package eventset

import (
	"errors"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/uevents"
)

// Event is an event of a [Set].
type Event struct {
	*uevents.Event

	// The adapter counts these of declared records, see [uevents.EventStats].
	Unconverted atomic.Uint64
	Matched     Once

	truncated atomic.Uint64
	refused   atomic.Uint64
}

// Once is a bool that is set once. To set it again changes no memory.
type Once struct{ atomic.Bool }

// Set sets it.
func (o *Once) Set() {
	if !o.Load() {
		o.Store(true)
	}
}

// Write hands a record to the kernel, and reports whether the kernel took it; see [uevents.Event.WriteRecord]. truncated is how
// many of its values were cut. That the event was closed is no error: the program shuts down.
func (e *Event) Write(buf []byte, truncated int) (written bool, err error) {
	written, err = e.WriteRecord(buf)
	return written, e.wrote(written, truncated, err)
}

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
func (e *Event) Stats() uevents.EventStats {
	n := e.Event.Stats()
	n.Truncated = e.truncated.Load()
	n.Refused += e.refused.Load()
	n.Unconverted, n.Matched = e.Unconverted.Load(), e.Matched.Load()
	return n
}

// Stats returns the counts of each event, by its name.
func (s *Set) Stats() map[string]uevents.EventStats {
	stats := make(map[string]uevents.EventStats, len(s.events))
	for _, e := range s.events {
		stats[e.Name()] = stats[e.Name()].Add(e.Stats()) // a name that was registered twice is an error, but stays one name
	}
	return stats
}

// Total adds the counts of all events up.
func (s *Set) Total() (n uevents.EventStats) {
	for _, e := range s.events {
		n = n.Add(e.Stats())
	}
	return n
}
