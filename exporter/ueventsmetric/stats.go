package ueventsmetric

import "github.com/userevents/userevents-go/internal/eventset"

// Stats counts what became of the data points of an event. Calls while the event is disabled are not
// counted.
type Stats struct {
	Written   uint64 // the kernel took the record while a tracing tool was attached
	Truncated uint64 // of those, the ones of which texts or attributes were cut or dropped to fit the limit
	Disabled  uint64 // the event was disabled between the enabled check and the system call
	Refused   uint64 // by the kernel, or above the limit
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
