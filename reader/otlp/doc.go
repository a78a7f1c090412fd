// Package otlp converts the events that package reader decodes to log records, spans and metrics of OpenTelemetry's
// data model. It accepts the events of any program.
//
//	c := otlp.NewConverter(nil)
//	r, err := reader.Open(nil, &reader.Options{Events: []string{"myapp"}, Notify: func(n reader.Notice) {
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
// If the observed time of a log record is missing, it becomes the time at which the kernel recorded it; if both times
// are missing, both do.
//
// Records are grouped by resource and instrumentation scope. The resource has the attributes of the record's own resource; those
// that the process has published as OpenTelemetry's process context, if the record lacks them; and, where they are known, process.pid,
// process.executable.name, process.linux.cgroup (the path), container.id and k8s.pod.uid. These are the kernel's, and replace the
// values that a program sends: what is outside of containers has no container.id. So do host.name and k8s.node.name, if Options have them.
//
// Log records and spans have the program's attributes, which take precedence, and, unless Options omit the first two,
//
//	thread.id              of the thread that wrote the record
//	user_events.name       the tracepoint
//	user_events.truncated  number of texts and attributes that the program cut or dropped; absent if none. Events and
//	                       links of spans have it, too.
//	user_events.raw        bytes of a record that does not fit the format of its event; absent from others
//
// EventHeader events also have their activity_id, related_activity_id, opcode, id, version and tag, if set, in
// attributes with the prefix user_events.
//
// Integers above the range of int64 become decimal texts. Bytes of a text that are not UTF-8 become U+FFFD.
//
// # Raw mapping
//
// With Options.Raw, each event becomes a log record as the receiver user_events of OpenTelemetry Arrow makes it, so that
// the same processors apply. Events must be plain, see reader.DecodePlain:
//
//	time, observed time  when the kernel recorded the event
//	event name           SYSTEM:NAME of the tracepoint
//	attributes           the fields; members of structs have names with dots, such as PartC.http.route
//	linux.user_events.process.pid, linux.user_events.thread.id, and, if the record does not fit the format of its event,
//	linux.user_events.payload_base64
//
// Severity, body, ids and the instrumentation scope stay empty. Differences to that receiver: the resource has the
// attributes of the process, unless the options omit them; all encodings and arrays have values, an array being one
// attribute; times, UUIDs and addresses are texts; __data_loc fields are texts and u8 arrays bytes instead of base64; integers above
// the range of int64 are decimal texts; the names of fields that share one are numbered; a record that is damaged in its
// middle has no attributes but its payload.
//
// # Events and links of spans
//
// Programs write the events and links of a span when they happen, and when it ends its record, which tells their numbers. The
// converter keeps events and links until their span ends, however long that takes. If it does not end before the process
// does (see Exited) or before Flush, or if Options.MaxSpans or Options.MaxBytes is reached, an event becomes a log record
// with the span's ids, and a link is dropped and counted in Stats. So do events and links beyond 512 KiB for one span, and at once events without a
// span id, of spans that began before a tool attached. At a
// limit, the oldest span of the process that has the most bytes goes first: a process that ends no spans leaves the others
// their room.
//
// The event of the spans themselves, such as myapp_span, must be among those that are read: without it, their events wait
// for the end of the process.
//
// A span that lacks events or links waits for them for Options.MaxWait, and is then added without them: records from several
// CPUs can come out of order, but those that were written before the tool attached never come.
//
// # Metrics
//
// The converter groups data points into metrics by resource, scope, name, unit, type, temporality and monotonicity.
// Numbers are floating-point, except for integers that a float64 cannot hold. An exemplar must follow its data point in
// the same batch; others are dropped and counted.
//
// # Differences from the SDK's exporters
//
// What this module's adapters write becomes the data that the OTLP exporters of OpenTelemetry's SDK send of the same input,
// but for these differences:
//
//   - The resource has service.name and the attributes that the adapter was told to write (WithResourceAttributes), for
//     metrics service.name alone; those of the process context, if the program publishes one; no schema URL; and the
//     attributes of the process. Log records and spans have the attributes above.
//   - In typed events, bytes are base64 texts, NaN and the infinities texts, and the
//     body of a log record is a text, or null if it is empty.
//   - In the Common Schema, attributes of the resource are in the record, but for the service's name and instance; a
//     log record has one time, its own or else the observed one; and values in a list of several types are as in typed
//     events, with whole floating-point numbers as integers.
//   - The fields of a declared log record have the names and types of their declaration.
//   - Links do not tell whether the linked span is in another program. They have its trace state, which the SDK omits.
//   - Integers up to 2^53 are floating-point numbers in data points. Metrics have no description.
//   - A record that was too large is truncated.
package otlp
