// Package otlp converts the events that package reader decodes to log records, spans and metrics of OpenTelemetry's data model. It accepts the
// events of any program.
//
//	c := otlp.NewConverter(nil)
//	r, err := reader.Open(&reader.Options{Events: []string{"myapp"}, Notify: func(n reader.Notice) {
//		if n.Kind == reader.NoticeExited {
//			c.Exited(n.PID)
//		}
//	}})
//	...
//	for next := time.Now().Add(time.Second); ; {
//		r.SetDeadline(next) // so that data is sent when no record comes, too
//		if err := r.Next(&ev); err == nil {
//			err = c.Add(&ev) // reports an invalid OTLP request
//		} else if !errors.Is(err, os.ErrDeadlineExceeded) {
//			break // io.EOF after Stop: call Flush, and send what is left
//		}
//		if now := time.Now(); now.After(next) || c.Pending().Bytes > 256<<10 {
//			next = now.Add(time.Second)
//			logs, traces, metrics := c.TakeLogs(), c.TakeTraces(), c.TakeMetrics()
//			...
//		}
//	}
//
// # Mapping
//
//	log records              severity, body, event name, ids, flags and counts unchanged; attributes keep their types
//	spans                    end is start plus duration; flags tell whether the parent is in another program
//	events, links of a span  parts of their span, see below
//	starts of spans          log records with the event name span.start, the name of the span as body, and its ids
//	metrics                  data points, see below
//	requests of OTLP         metrics as the program sent them, with added resource attributes
//	others                   log records without body: the event name is that of the EventHeader event or of the tracepoint,
//	                         fields are attributes, the level is the severity
//
// A time that a log record lacks becomes the time at which the kernel recorded it.
//
// Records are grouped by resource and instrumentation scope. The resource has the attributes of the record's own resource; those that the
// process has published as OpenTelemetry's process context, if the record lacks them; and, where they are known, process.pid,
// process.executable.name, process.linux.cgroup (the path), container.id and k8s.pod.uid. These are the kernel's, and replace the values that a
// program sends: a process outside of containers has no container.id. So do host.name and k8s.node.name, if Options have them.
//
// Log records and spans have the program's attributes, which take precedence, and, unless Options omit the first two,
//
//	thread.id              of the thread that wrote the record
//	user_events.name       the tracepoint
//	user_events.truncated  number of texts and attributes that the program cut or dropped, if any; of events and links of spans, too
//	user_events.raw        bytes of a record that does not fit the format of its event
//
// EventHeader events also have their activity_id, related_activity_id, opcode, id, version and tag, if set, in attributes with the prefix
// user_events.
//
// With Options.Raw, each event is a log record with its fields as attributes instead. Integers above the range of int64 become decimal texts. Bytes of a text that are not UTF-8 become U+FFFD.
//
// # Events and links of spans
//
// Programs write the events and links of a span when they happen, and when it ends its record, which tells their numbers. The converter keeps
// events and links until their span ends. If the process ends first (see Exited), or at Flush, Options.MaxSpans or Options.MaxBytes, an
// event becomes a log record with the span's ids, and a link is dropped and counted in Stats. So do events and links beyond 512
// KiB for one span, and at once events without a span id, of spans that began before a tool attached. At a limit, the oldest span of the
// process that has the most bytes goes first: a process that ends no spans leaves the others their room.
//
// The event of the spans themselves, such as myapp_span, must be among those that are read: without it, their events wait for the end of
// the process.
//
// A span that lacks events or links waits for them for Options.MaxWait, and is then added without them: records from several CPUs can come
// out of order, but those that were written before the tool attached never come.
//
// # Metrics
//
// The converter groups data points into metrics by resource, scope, name, unit, type, temporality and monotonicity. Numbers are
// floating-point, except for integers that a float64 cannot hold. An exemplar must follow its data point in the same batch; others are
// dropped and counted.
//
// # Differences from the SDK's exporters
//
// The records of this module's adapters become the data that the OTLP exporters of OpenTelemetry's SDK send of the same input, but for these
// differences:
//
//   - The resource has service.name and, but for metrics, the attributes that the adapter was told to write (WithResourceAttributes); those of
//     the process context; no schema URL; and the attributes of the process.
//   - In typed events, bytes are base64 texts, NaN and the infinities texts, and the body of a log record is a text, or null if it is empty.
//   - In the Common Schema, attributes of the resource are in the record, but for the service's name and instance; a log record has one
//     time, its own or else the observed one; and values in a list of several types are as in typed events, with whole floating-point
//     numbers as integers.
//   - The fields of a declared log record have the names and types of their declaration.
//   - Links do not tell whether the linked span is in another program. They have its trace state, which the SDK omits.
//   - Integers up to 2^53 are floating-point numbers in data points. Metrics have no description.
//   - A record that was too large is truncated.
package otlp
