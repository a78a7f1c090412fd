package otlp

import (
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/userevents/userevents-go/reader"
)

// Options are the choices of a Converter. The zero value has the default of each.
type Options struct {
	// DropSpanStarts drops the starts of spans, which are log records otherwise.
	DropSpanStarts bool
	// MaxSpans, MaxBytes and MaxAge limit what waits for the record of its span: the spans, about how many bytes
	// their events and links have, and how long one waits, in the time of the records. 0 means 10,000, 16 MiB and 2 s.
	MaxSpans, MaxBytes int
	MaxAge             time.Duration
}

// Stats counts what became of events.
type Stats struct {
	LogRecords, Spans, DataPoints uint64
	OrphanEvents                  uint64 // events of spans that became log records, as their span did not come
	OrphanLinks                   uint64 // links of spans that were dropped for the same reason
	OrphanExemplars               uint64 // exemplars that were dropped, as their point was not right before
	Malformed                     uint64 // requests of OTLP that are none
}

// Pending is what a Converter holds.
type Pending struct {
	LogRecords, Spans, DataPoints int
	// Bytes is about what the largest of the three signals takes as JSON, with its resources and scopes.
	Bytes int
}

// Converter collects events as OpenTelemetry's data. It takes as much memory as the events since the last Take of each
// signal, and what waits for its span. It is not safe for concurrent use.
type Converter struct {
	o       Options
	texts   texts
	origins origins
	logs    logs
	traces  traces
	metrics metrics
	waiting waiting
	stats   Stats
	now     int64 // nanoseconds, of the last event
}

// NewConverter returns a converter without events. nil means the default options.
func NewConverter(o *Options) *Converter {
	c := &Converter{}
	if o != nil {
		c.o = *o
	}
	if c.o.MaxSpans <= 0 {
		c.o.MaxSpans = 10_000
	}
	if c.o.MaxBytes <= 0 {
		c.o.MaxBytes = 16 << 20
	}
	if c.o.MaxAge <= 0 {
		c.o.MaxAge = 2 * time.Second
	}
	c.origins.reset()
	c.logs.reset()
	c.traces.reset()
	c.metrics.reset()
	c.waiting.reset()
	return c
}

// Add adds an event, of which nothing is kept: it copies what it needs. The error is about a request of OTLP that is
// not one; the event is dropped and counted then.
func (c *Converter) Add(ev *reader.Event) error {
	if c.now = int64(ev.Monotonic); c.now == 0 {
		c.now = ev.Time.UnixNano()
	}
	c.expire(c.now - int64(c.o.MaxAge))
	switch ev.Kind {
	case reader.Span:
		c.addSpan(ev)
	case reader.SpanEvent:
		c.keepEvent(ev)
	case reader.SpanLink:
		c.keepLink(ev)
	case reader.SpanStart:
		if !c.o.DropSpanStarts {
			c.addStart(ev)
		}
	case reader.Metric:
		if ev.Point.Type == reader.OTLP {
			if err := c.addRequest(ev); err != nil {
				c.stats.Malformed++
				return fmt.Errorf("%s of process %d: request of OTLP: %w", ev.Name, ev.PID, err)
			}
			return nil
		}
		c.addPoint(ev)
	default:
		c.addLog(ev)
	}
	return nil
}

// Flush gives up waiting for spans: their events become log records.
func (c *Converter) Flush() { c.expire(c.now + 1) }

// Pending returns what has been added and not been taken. What waits for its span is not counted.
func (c *Converter) Pending() Pending {
	return Pending{
		LogRecords: c.logs.records, Spans: c.traces.spans, DataPoints: c.metrics.points,
		Bytes: max(c.logs.bytes, c.traces.bytes, c.metrics.bytes),
	}
}

// Stats returns the counts since the Converter was made.
func (c *Converter) Stats() Stats { return c.stats }

// TakeLogs returns the log records since the last call. They belong to the caller.
func (c *Converter) TakeLogs() plog.Logs {
	data := c.logs.data
	c.logs.reset()
	return data
}

// TakeTraces returns the spans since the last call. They belong to the caller.
func (c *Converter) TakeTraces() ptrace.Traces {
	data := c.traces.data
	c.traces.reset()
	return data
}

// TakeMetrics returns the metrics since the last call. They belong to the caller.
func (c *Converter) TakeMetrics() pmetric.Metrics {
	data := c.metrics.data
	c.metrics.reset()
	return data
}
