package otlp

import (
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/eventset"
)

// Stats counts what became of data points and events. Points that are exported while the event is disabled are not
// counted.
type Stats struct {
	Events    uint64 // the kernel took the record while a tracing tool was attached
	Points    uint64 // in these records
	Truncated uint64 // of these points, the ones that lost a part to fit a record
	Dropped   uint64 // points: the last tracing tool detached while the record was made
	Failed    uint64 // points that do not fit a record, have no temporality, or were in a record that the kernel refused; 1 for a metric of an unknown kind
}

type counts struct{ points, truncated, dropped, failed atomic.Uint64 }

// Stats returns the exporter's counts.
func (e *Exporter) Stats() Stats {
	if !e.usable() {
		return Stats{}
	}
	return Stats{
		Events:    e.event.Stats().Written,
		Points:    e.counts.points.Load(),
		Truncated: e.counts.truncated.Load(),
		Dropped:   e.counts.dropped.Load(),
		Failed:    e.counts.failed.Load(),
	}
}

// total returns the counts of points, for the metric about the exporter.
func (e *Exporter) total() eventset.Stats {
	n := e.Stats()
	return eventset.Stats{Written: n.Points, Truncated: n.Truncated, Dropped: n.Dropped, Failed: n.Failed}
}
