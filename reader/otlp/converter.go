package otlp

import (
	"container/list"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/userevents/userevents-go/internal/tool/spanqueue"
	"github.com/userevents/userevents-go/record"
)

// Options configure a Converter. The zero value means the default of each.
type Options struct {
	// DropSpanStarts drops the starts of spans, which otherwise become log records.
	DropSpanStarts bool
	// Raw makes each event a log record with flat attributes and without interpretation, as the receiver user_events of OpenTelemetry Arrow
	// makes it, so that the same processors apply. Records must be plain ([record.Decoder.Plain]). The event name is SYSTEM:NAME of the
	// tracepoint, and both times are those at which the kernel recorded the event. Attributes are the fields (members of structs have names
	// with dots, such as PartC.http.route), linux.user_events.process.pid, linux.user_events.thread.id and, if the record does not fit the
	// format of its event, linux.user_events.payload_base64. Severity, body, ids and the instrumentation scope stay empty.
	//
	// Differences to that receiver: the resource has the attributes of the process, unless the options omit them; all encodings and arrays
	// have values, an array being one attribute; times, UUIDs and addresses are texts; __data_loc fields are texts and u8 arrays bytes instead
	// of base64; integers above the range of int64 are decimal texts; the names of fields that share one are numbered; a record that is
	// damaged in its middle has no attributes but its payload.
	Raw bool
	// OmitPID, OmitExecutableName, OmitContainerID, OmitPodUID and OmitCgroup omit the resource attributes process.pid,
	// process.executable.name, container.id, k8s.pod.uid and process.linux.cgroup. Those that programs send stay as they are then.
	OmitPID, OmitExecutableName, OmitContainerID, OmitPodUID, OmitCgroup bool
	// RootCgroup says that / is the root of the machine's cgroups, so that a process there is in no container. In a cgroup namespace it is the
	// namespace's own container.
	RootCgroup bool
	// OmitThread and OmitName omit the attributes thread.id and user_events.name.
	OmitThread, OmitName bool
	// HostName and NodeName are the resource attributes host.name and k8s.node.name; "" leaves them to the programs.
	HostName, NodeName string
	// MaxSpans and MaxBytes limit the events and links that wait for the end of their span, however long it takes: the
	// number of spans, and the approximate bytes, of which at least 4 KiB are allowed. 0 means 10,000 and 16 MiB. At a
	// limit, the oldest span of the process that has the most bytes waits no longer.
	MaxSpans, MaxBytes int
	// MaxWait limits the wait for records that are late, in the time of the records: for events and links after the span
	// that they belong to, and for all records of a process that has ended. 0 means 2 s.
	MaxWait time.Duration
}

// Stats counts the results of conversions.
type Stats struct {
	LogRecords, Spans, DataPoints uint64
	OrphanEvents                  uint64 // span events that became log records: without a span, or their span did not arrive, or was too large
	OrphanLinks                   uint64 // span links that were dropped, for the same reasons
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
	writers writers
	logs    logs
	traces  traces
	metrics metrics
	waiting *spanqueue.Queue[parts]
	leaving *list.List // of those in waiting that wait for a limited time, in the order of its end
	stats   Stats
	// hasEvents and hasLinks report that there were records of any.
	hasEvents, hasLinks bool
	now                 int64          // time of the last event in nanoseconds
	flat                []record.Field // of the last event; used by addRaw
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
	if c.o.MaxWait <= 0 {
		c.o.MaxWait = 2 * time.Second
	}
	c.o.MaxBytes = max(c.o.MaxBytes, minWaiting)
	c.texts = newTexts()
	c.origins = origins{resources: map[string]*resource{}, scopes: map[string]*scope{}}
	c.logs.reset()
	c.traces.reset()
	c.metrics.reset()
	c.waiting, c.leaving = spanqueue.New(c.o.MaxSpans, c.o.MaxBytes, c.giveUp), list.New()
	return c
}

// Add adds an event. It copies the data, so the caller may reuse the event. An error reports an invalid OTLP request,
// which is dropped and counted; it wraps [fs.ErrInvalid] if the event is not plain and Options.Raw is set.
func (c *Converter) Add(ev *record.Record) error {
	now := int64(ev.Monotonic)
	if now == 0 {
		now = ev.Time.UnixNano()
	}
	c.now = max(c.now, now) // records can be late, and programs with events in shared memory choose their times
	if c.o.Raw {
		return c.addRaw(ev)
	}
	c.expire(c.now)
	switch ev.Kind {
	case record.KindSpan:
		c.addSpan(ev)
	case record.KindSpanEvent:
		c.keepEvent(ev)
	case record.KindSpanLink:
		c.keepLink(ev)
	case record.KindSpanStart:
		if !c.o.DropSpanStarts {
			c.addStart(ev)
		}
	case record.KindMetric:
		if ev.Point.Type == record.PointOTLP {
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

// Exited tells the converter that a process has ended, or executes another program, and so does not end the spans that it has
// left open. Their events and links wait for Options.MaxWait at most, since records can be late. Call it with the PID of a
// [reader.NoticeExited], between the events before and after the notice: another process may get the id. A record that comes even
// later waits as one of that process.
func (c *Converter) Exited(pid int32) {
	for p := range c.waiting.Of(pid) {
		c.limit(p)
	}
}

// Idle tells the converter that no event has come for the duration d since the last Add or Exited. Without events, time does
// not pass for the converter: call Idle when none came for a while, so that what waits for late records does so for no
// longer than Options.MaxWait.
func (c *Converter) Idle(d time.Duration) { c.expire(c.now + int64(d)) }

// Flush stops waiting: spans are added without the parts that did not arrive, and the events of spans that did not arrive
// become log records. Call it at the end, and when a [reader.Reader] is closed: the ends of processes are unknown then.
func (c *Converter) Flush() {
	for c.waiting.Evict() {
	}
}

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
