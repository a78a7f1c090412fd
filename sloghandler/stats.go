package sloghandler

import "sync/atomic"

// Stats counts what became of the records of an event. Records that were logged while
// nobody traced are not counted, so that they cost nothing.
type Stats struct {
	Written uint64 // the kernel took the record and gave it to the tracers
	Cut     uint64 // written, and something had to be cut or left out to fit
	Dropped uint64 // the last tracer detached while the record was made
	Failed  uint64 // the kernel refused the record

	// Unconverted counts declared attributes with a value of another type, which were
	// written to the field attributes instead.
	Unconverted uint64
}

// counts are those that the handler keeps beside the ones of uevents.
type counts struct{ cut, unconverted atomic.Uint64 }

// Stats returns the counts of each event, by its name, for all handlers derived from the same New.
func (h *Handler) Stats() map[string]Stats {
	stats := make(map[string]Stats, len(h.points))
	for _, p := range h.points {
		s := Stats{Cut: p.counts.cut.Load(), Unconverted: p.counts.unconverted.Load()}
		e := p.event.Stats()
		s.Written, s.Dropped, s.Failed = e.Written, e.Disabled, e.Failed+e.TooLarge
		stats[p.event.Name()] = s
	}
	return stats
}
