package eventset

import (
	"errors"
	"sync/atomic"

	"github.com/userevents/userevents-go/uevents"
)

// Event is an event of a [Set].
type Event struct {
	*uevents.Event

	truncated atomic.Uint64
	refused   atomic.Uint64
}

// Stats counts what became of the records of an event. Records that come while the event is disabled are not
// counted.
type Stats struct {
	Written   uint64 // the kernel took the record while a tracing tool was attached
	Truncated uint64 // of those, the ones that were cut to fit
	Dropped   uint64 // the event was disabled while the record was made
	Failed    uint64 // the kernel refused the record, or it does not fit the limit
}

// WriteRecord hands a record to the kernel; see [uevents.Event.WriteRecord]. truncated is how many of its values were
// cut. That the event was closed is no error: the program shuts down.
func (e *Event) WriteRecord(buf []byte, truncated int) error {
	_, err := e.Write(buf, truncated)
	return err
}

// Write is [Event.WriteRecord] for callers that need to know whether the kernel took the record.
func (e *Event) Write(buf []byte, truncated int) (written bool, err error) {
	written, err = e.Event.WriteRecord(buf)
	if written && truncated > 0 {
		e.truncated.Add(1)
	}
	if err != nil && errors.Is(err, uevents.ErrClosed) {
		return false, nil
	}
	return written, err
}

// Refuse counts a record that could not be encoded.
func (e *Event) Refuse() { e.refused.Add(1) }

// Stats returns the event's counts.
func (e *Event) Stats() Stats {
	n := e.Event.Stats()
	return Stats{
		Written:   n.Written,
		Truncated: e.truncated.Load(),
		Dropped:   n.Disabled,
		Failed:    n.Failed + n.TooLarge + e.refused.Load(),
	}
}

// add returns the sums of two events' counts.
func (n Stats) add(more Stats) Stats {
	n.Written += more.Written
	n.Truncated += more.Truncated
	n.Dropped += more.Dropped
	n.Failed += more.Failed
	return n
}

// Stats returns the counts of each event, by its name.
func (s *Set) Stats() map[string]Stats {
	stats := make(map[string]Stats, len(s.events))
	for _, e := range s.events {
		stats[e.Name()] = stats[e.Name()].add(e.Stats()) // a name that was registered twice is an error, but stays one name
	}
	return stats
}

// Total adds the counts of all events up.
func (s *Set) Total() (n Stats) {
	for _, e := range s.events {
		n = n.add(e.Stats())
	}
	return n
}
