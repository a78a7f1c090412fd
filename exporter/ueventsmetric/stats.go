package ueventsmetric

import "github.com/userevents/userevents-go/exporter/internal/selfobs"

// Stats counts what became of the data points of an event. Points that were exported while nobody
// traced are not counted, so that they cost nothing.
type Stats struct {
	Written uint64 // the kernel took the point and gave it to the tracers
	Cut     uint64 // written, and something had to be cut or left out to fit
	Dropped uint64 // the last tracer detached while the point was encoded
	Failed  uint64 // the kernel refused the point
}

// Stats returns the counts of each event, by its name.
func (e *Exporter) Stats() map[string]Stats {
	stats := make(map[string]Stats, len(e.outlets))
	for k := range e.outlets {
		o := &e.outlets[k]
		n := o.event.Stats()
		stats[o.event.Name()] = Stats{
			Written: n.Written,
			Cut:     o.cut.Load(),
			Dropped: n.Disabled,
			Failed:  n.Failed + n.TooLarge,
		}
	}
	return stats
}

// total adds the counts of the points of all events up. Exemplars are parts of points.
func (e *Exporter) total() (n selfobs.Counts) {
	for k := range e.outlets {
		if kind(k) == exemplar {
			continue
		}
		stats := e.outlets[k].event.Stats()
		n.Written += stats.Written
		n.Dropped += stats.Disabled
		n.Failed += stats.Failed + stats.TooLarge
	}
	return n
}
