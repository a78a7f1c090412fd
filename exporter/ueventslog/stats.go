package ueventslog

import (
	"sync/atomic"

	"github.com/userevents/userevents-go/exporter/internal/selfobs"
)

// Stats counts what became of the records of an event. Records that were emitted while nobody
// traced are not counted, so that they cost nothing.
type Stats struct {
	Written uint64 // the kernel took the record and gave it to the tracers
	Cut     uint64 // written, and something had to be cut or left out to fit
	Dropped uint64 // the last tracer detached while the record was made
	Failed  uint64 // the kernel refused the record

	// Unconverted counts declared attributes with a value of another type, which were
	// written to the field attributes instead.
	Unconverted uint64
}

// counts are those that are kept beside the ones of uevents.
type counts struct{ cut, unconverted, failed atomic.Uint64 }

// stats returns the counts of each event, by its name.
func (s *sink) stats() map[string]Stats {
	stats := make(map[string]Stats, len(s.points))
	for _, p := range s.points {
		n := Stats{Cut: p.counts.cut.Load(), Unconverted: p.counts.unconverted.Load(), Failed: p.counts.failed.Load()}
		e := p.event.Stats()
		n.Written, n.Dropped = e.Written, e.Disabled
		n.Failed += e.Failed + e.TooLarge
		stats[p.event.Name()] = n
	}
	return stats
}

// total adds the counts of all events up.
func (s *sink) total() (n selfobs.Counts) {
	for _, stats := range s.stats() {
		n.Written += stats.Written
		n.Dropped += stats.Dropped
		n.Failed += stats.Failed
	}
	return n
}
