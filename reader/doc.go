// Package reader decodes what programs write to Linux tracepoints, user_events above all. A record of any program, in any
// language and either encoding, becomes one [Event] with time, kind, severity, message, ids and fields.
//
// A [Reader] reads records while programs write them, and has a [Decoder] for each event. Records from elsewhere, such as
// a file that perf has written, take a Decoder made of the tracepoint's format:
//
//	d, err := reader.NewDecoder("user_events", format)
//	...
//	var ev reader.Event // for all records
//	for ... {
//		if err := d.Decode(raw, &ev); err != nil { ... }
//		fmt.Println(ev.Timestamp, ev.Severity, reader.StringValue(ev.Message)) // safe to print
//	}
//
// # Recognised events
//
// Fields say what an event is, not its name. An event must have all fields in the first column, whatever else it has:
//
//	fields                                                    Kind       what writes it
//	time_unix_nano, level, truncated, trace_id, span_id,      Log        sloghandler; without duplicate and message,
//	  source, attributes, duplicate, message                             a declared record
//	time_unix_nano, observed_time_unix_nano,                  Log        ueventslog; without duplicate, severity_text and
//	  severity_number, trace_id, span_id, body, attributes,              event_name, a declared record
//	  duplicate, severity_text, event_name
//	start_time_unix_nano, duration_ns, trace_id, span_id,     Span       ueventstrace
//	  parent_span_id, name
//	start_time_unix_nano, kind, trace_id, span_id,            SpanStart  the same
//	  parent_span_id, name
//	trace_id, span_id, linked_trace_id, linked_span_id        SpanLink   the same
//	time_unix_nano, dropped_attributes_count, trace_id,       SpanEvent  the same
//	  span_id, name, attributes
//	time_unix_nano, name, unit, attributes, and one of        Metric     ueventsmetric
//	  value, filtered_attributes, trace_id, span_id           Exemplar
//	  value, temporality, monotonic                           Sum
//	  value                                                   Gauge
//	  count, sum, explicit_bounds, bucket_counts              Histogram
//	  count, sum, scale, zero_count, positive, negative       ExpHistogram
//	  count, sum, quantiles                                   Summary
//	protocol (0), version (v0...), buffer                     Metric     OpenTelemetry's exporters of several languages, as
//	                                                          OTLP       otlp_metrics
//
// In the format EventHeader the fields of each record decide:
//
//	time_unix_nano, level                                     Log        sloghandler; level alone with the keyword K2
//	__csver__, PartB with _typeName Log or Span               Log, Span  the Common Schema: ueventslog, ueventstrace,
//	                                                                     and OpenTelemetry's exporters for C++, .NET and Rust
//
// All others are of Kind [Other] and have all their fields: events of the kernel, of C programs, of package structevent,
// and EventHeader events, whose level becomes the severity and whose name becomes EventName.
//
// # Fields
//
// The members of the JSON objects attributes and resource become fields. Numbers without fraction and exponent are
// integers, exact up to 64 bits. Of fields with the same name the last one counts: an attribute with the name of a
// declared field is the value that this field could not hold. What is no JSON object stays a text. Typed events have
// integers and texts only: a declared boolean is 0 or 1, a declared floating-point number its text.
//
// A field whose value makes no sense, such as a trace id of 5 digits, stays in [Event.Fields] as it is. So do fields of a
// recognised event that the table does not have. Attributes that OpenTelemetry's exporters write because an event has no
// field for it, such as otel.scope.version and otel.trace_state, are in the fields of Event. Numbers in millionths, which
// are for the kernel, are left out: the exact ones are beside them. The source of a log call becomes
// code.function.name, code.file.path and code.line.number.
//
// Texts of this module's adapters have escapes, which are reversed. Texts in events of Kind Other stay as they are, and
// so do those of other programs in the Common Schema, with one exception: fields do not tell a log record of this module without
// attributes from one of the exporter for Rust. There a backslash with an n behind it that a Rust program has logged
// becomes a newline.
//
// In EventHeader events, times, UUIDs and IP addresses are texts, as package eventheader has them in JSON. Texts in
// JSON are what they say, lists and maps.
//
// # Hostile records
//
// Programs can write any bytes. Decode reads nothing outside of the record and does a bounded amount of work, whatever
// it claims, and any record of the right layout is an Event, but texts in it may hold anything, such as
// terminal escapes, newlines and bytes that are not UTF-8: see [Value.AppendText] and [AppendJSON]. Lists and maps of
// JSON are read up to 1,000 deep.
package reader
