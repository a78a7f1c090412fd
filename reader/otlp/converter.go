package otlp

import (
	"fmt"
	"hash/maphash"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/userevents/userevents-go/internal/spanqueue"
	"github.com/userevents/userevents-go/reader"
)

// Options configure a Converter. The zero value means the default of each.
type Options struct {
	// DropSpanStarts drops the starts of spans, which otherwise become log records.
	DropSpanStarts bool
	// Raw makes each event a log record with flat attributes and without interpretation: see the package comment. Events
	// must be plain ([reader.DecodePlain]).
	Raw bool
	// OmitPID, OmitExecutableName and OmitContainerID omit the resource attributes process.pid,
	// process.executable.name and container.id.
	OmitPID, OmitExecutableName, OmitContainerID bool
	// MaxSpans, MaxBytes and MaxAge limit the events and links that wait for the record of their span, and the spans that
	// wait for theirs: the number of spans, the approximate bytes, of which at least 4 KiB are allowed, and the wait in
	// the time of the records. 0 means 10,000, 16 MiB and 2 s.
	MaxSpans, MaxBytes int
	MaxAge             time.Duration
}

// Stats counts the results of conversions.
type Stats struct {
	LogRecords, Spans, DataPoints uint64
	OrphanEvents                  uint64 // span events that became log records, since their span did not arrive
	OrphanLinks                   uint64 // span links that were dropped, since their span did not arrive
	OrphanExemplars               uint64 // exemplars that were dropped, since they did not follow their point
	Malformed                     uint64 // OTLP requests that are invalid
}

// Pending is the size of the data that a Converter holds.
type Pending struct {
	LogRecords, Spans, DataPoints int
	// LogBytes, SpanBytes and PointBytes are the approximate sizes of the three signals as JSON, with their resources and
	// scopes; Bytes is the largest of these. The data takes more memory than its JSON. One event adds at most 16 MiB.
	LogBytes, SpanBytes, PointBytes, Bytes int
}

// Converter collects events as OpenTelemetry data. Its memory holds the data since the last Take of each signal, and
// the events and links that wait for their span. It is not safe for concurrent use.
type Converter struct {
	o       Options
	texts   texts
	origins origins
	logs    logs
	traces  traces
	metrics metrics
	waiting *spanqueue.Queue[parts]
	stats   Stats
	// hasEvents and hasLinks report that there were records of any.
	hasEvents, hasLinks bool
	now                 int64          // time of the last event in nanoseconds
	flat                []reader.Field // of the last event; used by addRaw
	names               int            // bytes of the names in flat
}

// NewConverter returns an empty converter. nil means the default options.
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
	c.o.MaxBytes = max(c.o.MaxBytes, minWaiting)
	c.texts.seed = maphash.MakeSeed()
	c.origins.reset()
	c.logs.reset()
	c.traces.reset()
	c.metrics.reset()
	c.waiting = spanqueue.New(c.o.MaxSpans, c.o.MaxBytes, c.giveUp)
	return c
}

// Add adds an event. It copies the data, so the caller may reuse the event. An error reports an invalid OTLP request,
// which is dropped and counted; it wraps EINVAL if the event is not plain and Options.Raw is set.
func (c *Converter) Add(ev *reader.Event) error {
	if c.now = int64(ev.Monotonic); c.now == 0 {
		c.now = ev.Time.UnixNano()
	}
	if c.o.Raw {
		return c.addRaw(ev)
	}
	c.expire(c.now - int64(c.o.MaxAge))
	switch ev.Kind {
	case reader.KindSpan:
		c.addSpan(ev)
	case reader.KindSpanEvent:
		c.keepEvent(ev)
	case reader.KindSpanLink:
		c.keepLink(ev)
	case reader.KindSpanStart:
		if !c.o.DropSpanStarts {
			c.addStart(ev)
		}
	case reader.KindMetric:
		if ev.Point.Type == reader.PointOTLP {
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

// Idle tells the converter that no event has come for the duration d since the last Add. Without events, time does not pass
// for the converter: call Idle when none came for a while, so that events whose span does not arrive within
// Options.MaxAge become log records.
func (c *Converter) Idle(d time.Duration) { c.expire(c.now + int64(d) - int64(c.o.MaxAge)) }

// Flush stops waiting: spans are added without the parts that did not arrive, and the events of spans that did not arrive
// become log records.
func (c *Converter) Flush() { c.expire(c.now + 1) }

// Pending returns the size of the data since the last Take. Events and links that wait for their span are not included.
func (c *Converter) Pending() Pending {
	return Pending{
		LogRecords: c.logs.records, Spans: c.traces.spans, DataPoints: c.metrics.points,
		LogBytes: c.logs.bytes, SpanBytes: c.traces.bytes, PointBytes: c.metrics.bytes,
		Bytes: max(c.logs.bytes, c.traces.bytes, c.metrics.bytes),
	}
}

// Stats returns the counts since NewConverter.
func (c *Converter) Stats() Stats { return c.stats }

// TakeLogs returns the log records since the last call. The caller owns them.
func (c *Converter) TakeLogs() plog.Logs {
	data := c.logs.data
	c.logs.reset()
	return data
}

// TakeTraces returns the spans since the last call. The caller owns them.
func (c *Converter) TakeTraces() ptrace.Traces {
	data := c.traces.data
	c.traces.reset()
	return data
}

// TakeMetrics returns the metrics since the last call. The caller owns them.
func (c *Converter) TakeMetrics() pmetric.Metrics {
	data := c.metrics.data
	c.metrics.reset()
	return data
}
