package otlp

import "sync/atomic"

// Stats counts what became of data points and events. Points that are exported while the event is disabled are not
// counted.
type Stats struct {
	Events    uint64 // the kernel took the record while a tracing tool was attached
	Points    uint64 // in these records
	Truncated uint64 // points that lost a part to fit a record
	Dropped   uint64 // points: the last tracing tool detached while the record was made
	Failed    uint64 // points that do not fit a record, or were in one that the kernel refused
}

type counts struct{ points, truncated, dropped, failed atomic.Uint64 }

// Stats returns the exporter's counts.
func (e *Exporter) Stats() Stats {
	return Stats{
		Events:    e.event.Stats().Written,
		Points:    e.counts.points.Load(),
		Truncated: e.counts.truncated.Load(),
		Dropped:   e.counts.dropped.Load(),
		Failed:    e.counts.failed.Load(),
	}
}
