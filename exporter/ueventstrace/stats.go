package ueventstrace

import "sync/atomic"

// Stats counts what became of the records of an event. Spans that started and ended while
// nobody traced are not counted, so that they cost nothing.
type Stats struct {
	Written uint64 // the kernel took the record and gave it to the tracers
	Cut     uint64 // written, and something had to be cut or left out to fit
	Dropped uint64 // the last tracer detached while the record was made
	Failed  uint64 // the kernel refused the record
}

// counts are those that are kept beside the ones of uevents.
type counts struct{ cut, failed atomic.Uint64 }

// stats returns the counts of each event, by its name.
func (s *sink) stats() map[string]Stats {
	stats := make(map[string]Stats, len(s.outlets))
	for _, o := range s.outlets {
		if o == nil {
			continue
		}
		e := o.event.Stats()
		stats[o.event.Name()] = Stats{
			Written: e.Written,
			Cut:     o.counts.cut.Load(),
			Dropped: e.Disabled,
			Failed:  e.Failed + e.TooLarge + o.counts.failed.Load(),
		}
	}
	return stats
}
