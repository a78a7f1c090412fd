// Package otlp turns the events that package reader decodes into the log records, spans and metrics of OpenTelemetry's
// data model, whatever program wrote them.
//
//	c := otlp.NewConverter(nil)
//	for r.Next(&ev) == nil {
//		c.Add(&ev)
//		if c.Pending().Bytes > 256<<10 {
//			logs, traces, metrics := c.TakeLogs(), c.TakeTraces(), c.TakeMetrics()
//			...
//		}
//	}
//
// # Mapping
//
//	log records              severity, body, event name, ids, flags and counts as they are; attributes keep their types
//	spans                    end is start and duration; flags say whether the parent is in another program
//	events, links of a span  parts of their span, see below
//	starts of spans          log records with the event name span.start, the name of the span as body, and its ids
//	metrics                  data points, see below
//	requests of OTLP         metrics as the program sent them; attributes of the resource are added
//	others                   log records without body: the event name is that of the EventHeader event or of the tracepoint,
//	                         fields are attributes, the level is the severity
//
// A log record that has no time of its own has the time at which the kernel took it, and so has a record that has no observed time.
//
// Records are grouped by resource and instrumentation scope. The resource has the attributes that the program chose,
// service.name, and process.pid, process.executable.name and container.id as far as they are known; what the program says
// wins. Attributes of log records and spans are the program's and
//
//	thread.id              of the thread that wrote the record
//	user_events.name       the tracepoint
//	user_events.truncated  how many texts and attributes the program cut or dropped; absent if none
//
// and for EventHeader events, in attributes that begin with user_events.: activity_id, related_activity_id, opcode, id, version
// and tag, if they are set.
//
// Integers above the range of int64 are decimal texts. Bytes of a text that are not UTF-8 become U+FFFD.
//
// # Events and links of spans
//
// Programs write these before the record of their span. The converter keeps them until that comes, up to the limits in Options
// and 512 KiB for one span; beyond them, and after Flush, an event becomes a log record with the ids of its span, and a link
// is dropped and counted in Stats.
//
// # Metrics
//
// Data points are grouped into metrics by resource, scope, name, unit, type, temporality and monotonicity. Numbers are floating-point,
// except for integers that such a number cannot hold. An exemplar follows its point in the same batch; others
// are dropped and counted.
package otlp
