package ueventsmetric

import "github.com/userevents/userevents-go/internal/eventset"

// Stats counts what became of the data points of an event. Points that are exported while the event is disabled are not
// counted.
type Stats struct {
	Written   uint64 // the kernel took the point while a tracing tool was attached
	Truncated uint64 // of those, the points that were cut to fit
	Disabled  uint64 // the event was disabled while the record was made
	Refused   uint64 // by the kernel
}

// Stats returns the counts of each event, by its name.
func (e *Exporter) Stats() map[string]Stats {
	if !e.usable() {
		return nil
	}
	stats := make(map[string]Stats, len(e.events))
	for name, n := range e.common.Stats() {
		stats[name] = Stats(n)
	}
	return stats
}

// total returns the counts of the points of all events. Exemplars are parts of points.
func (e *Exporter) total() (n eventset.Stats) {
	for k, event := range e.events {
		if kind(k) != exemplar {
			n = n.Add(event.Stats())
		}
	}
	return n
}
