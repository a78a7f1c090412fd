package otlp

import (
	"sync/atomic"

	"github.com/userevents/userevents-go/uevents"
)

// Stats counts what became of data points and events. Calls while the event is disabled are not counted.
type Stats struct {
	Events    uint64 // records that the kernel took while a tracing tool was attached
	Written   uint64 // points: the kernel took the record while a tracing tool was attached
	Truncated uint64 // of those, the ones of which texts or attributes were cut or dropped to fit the limit, or exemplars, buckets or quantiles
	Disabled  uint64 // points: the event was disabled between the enabled check and the system call
	Refused   uint64 // points: by the kernel, or above the limit, or without a temporality; 1 for a metric of an unknown kind
}

type counts struct{ written, truncated, disabled, refused atomic.Uint64 }

// Stats returns the exporter's counts.
func (e *Exporter) Stats() Stats {
	return Stats{
		Events:    e.event.Stats().Written,
		Written:   e.counts.written.Load(),
		Truncated: e.counts.truncated.Load(),
		Disabled:  e.counts.disabled.Load(),
		Refused:   e.counts.refused.Load(),
	}
}

// total returns the counts of points, for the metric about the exporter.
func (e *Exporter) total() uevents.EventStats {
	n := e.Stats()
	return uevents.EventStats{Written: n.Written, Truncated: n.Truncated, Disabled: n.Disabled, Refused: n.Refused}
}
