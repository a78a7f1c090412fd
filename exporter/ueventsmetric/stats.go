package ueventsmetric

import "github.com/userevents/userevents-go/uevents"

// Stats returns the counts of each event, by its name.
func (e *Exporter) Stats() map[string]uevents.EventStats { return e.common.Stats() }

// total returns the counts of the points of all events. Exemplars are parts of points.
func (e *Exporter) total() (n uevents.EventStats) {
	for k, event := range e.events {
		if kind(k) != exemplar {
			n = n.Add(event.Stats())
		}
	}
	return n
}
