package otlp

import "sync/atomic"

// Stats counts what became of data points and events. What was exported while nobody traced is
// not counted, so that it costs nothing.
type Stats struct {
	Events  uint64 // written: the kernel took them and gave them to the tracers
	Points  uint64 // in these events
	Cut     uint64 // points from which something had to be left out to fit an event
	Dropped uint64 // points: the last tracer detached while they were encoded
	Failed  uint64 // points that do not fit an event, or were in an event that the kernel refused
}

type counts struct{ points, cut, dropped, failed atomic.Uint64 }

// Stats returns the exporter's counts.
func (e *Exporter) Stats() Stats {
	return Stats{
		Events:  e.event.Stats().Written,
		Points:  e.counts.points.Load(),
		Cut:     e.counts.cut.Load(),
		Dropped: e.counts.dropped.Load(),
		Failed:  e.counts.failed.Load(),
	}
}
