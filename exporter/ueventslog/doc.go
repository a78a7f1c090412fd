// Package ueventslog writes OpenTelemetry's log records as Linux user_events, which perf, trace-cmd and ftrace
// record, filter and count.
//
//	provider, err := ueventslog.NewLoggerProvider("myapp")
//	if err != nil {
//		log.Print(err) // why there are no events; the provider works
//	}
//	defer provider.Shutdown(context.Background())
//	events := otelslog.NewHandler("my/package", otelslog.WithLoggerProvider(provider))
//	slog.SetDefault(slog.New(slog.NewMultiHandler(slog.NewJSONHandler(os.Stderr, nil), events)))
//
// There are three ways to the same events:
//
//   - [NewLoggerProvider], if tracing tools are the only destination of the log records. It takes the place of the SDK
//     and is the fastest.
//   - [NewProcessor], beside other processors of an SDK's provider, such as one that batches for a collector.
//   - [NewExporter], for pipelines that need an exporter, such as those of package autoexport.
//
// The first two write a record where and when it is emitted.
//
// # Events
//
// A provider called myapp registers four events, one for each range of severities. Attaching a tool to one of them
// enables that range alone:
//
//	myapp_log_debug   severity numbers 1 to 8, TRACE and DEBUG
//	myapp_log_info    9 to 12, and records without a severity
//	myapp_log_warn    13 to 16
//	myapp_log_error   17 to 24, ERROR and FATAL
//
// All have these fields:
//
//	u64 time_unix_nano                    nanoseconds since 1970; 0 for a record without a timestamp
//	u64 observed_time_unix_nano           the same, of the time at which the provider saw the record
//	s32 severity_number                   1 to 24; 0 if it is not set
//	__data_loc char[] trace_id            lower-case hex digits; empty without a trace
//	__data_loc char[] span_id             the same
//	u8 trace_flags                        1: the span is sampled
//	u32 truncated                         how many texts and attributes were cut or dropped to fit the limit
//	u8 duplicate                          1: the record was also written to the event of its declaration, right before
//	u32 dropped_attributes_count          how many attributes the provider dropped to keep its limits
//	__data_loc char[] severity_text       the severity's name at the source of the record
//	__data_loc char[] event_name
//	__data_loc char[] body                a text as it is, any other value as its text
//	__data_loc char[] scope_name          of the instrumentation scope, which is the logger's name
//	__data_loc char[] scope_version
//	__data_loc char[] service_name        service.name of the resource
//	__data_loc char[] resource            one JSON object, see [WithResourceAttributes]; empty without
//	__data_loc char[] attributes          one JSON object
//
// Texts are one line of printable characters, as text.Append of package encode/text writes them. Values in attributes
// and resource, and bodies that are not texts, have the form that OpenTelemetry's specification gives values outside
// of its own protocol: lists and maps are JSON, bytes are base64. The schema URL and the attributes of a scope are
// rare and become the attributes otel.scope.schema_url and user_events.scope.attributes, which win over attributes of the program
// that have these keys.
//
// An error that was given to log.Record.SetErr is in the attributes exception.message and exception.type.
//
// The ids are those of the span in the context. Of a span of package ueventstrace's own provider, they are the ids that
// the span has in events. An [Exporter] gets no context and writes the ids that the SDK has taken from it.
//
// The fields are fixed, since all programs of a machine share one namespace of events. All adapters of this module may
// have the same name: no event of one has the name of an event of another.
//
// # Declared records
//
// A record whose event name was declared by [WithRecords] has an event of its own, in which attributes are fields of
// their own type, by which the kernel filters and aggregates. This event has the fields above without duplicate,
// dropped_attributes_count, severity_text, event_name and scope_version, as a declaration has room for 511 bytes. The
// name of the event stands for event_name. The others are in attributes if they say something, as
// otel.dropped_attributes_count, otel.scope.version and, if it is not the name that OpenTelemetry has for the number,
// severity_text.
//
// The event of a severity has all records of that severity, declared or not. If both events are enabled, the record
// is written to both, first to that of its declaration, by the same thread. The copy has duplicate=1, so that a tool
// that is attached to both can show the record once. It has 0 if the kernel did not take the first one. A filter of
// the first event is unknown to the program: records that the filter rejects have duplicate=1, too.
//
// # Limits
//
// A record has at most 4064 bytes, which every tracing tool keeps, or the limit that [WithMaxPayload] sets. If a
// record is larger, texts of more than 64 bytes are cut first, the longest ones to equal shares; they end in "...".
// If that is not enough, attributes are dropped, those with long values first. Numbers, booleans, ids and short texts
// stay as long as there is room for them. The field truncated and [uevents.EventStats] count what was cut or dropped.
//
// # The Common Schema
//
// With [WithCommonSchema4] the events are those of the EventHeader format, one tracepoint for each level, with the names
// and types of fields that OpenTelemetry's exporter for Rust writes:
//
//	myapp_L5K1   severity numbers 1 to 8
//	myapp_L4K1   9 to 12, and 0
//	myapp_L3K1   13 to 16
//	myapp_L2K1   17 to 20
//	myapp_L1K1   21 to 24, FATAL
//
//	__csver__                      1024
//	PartA  time                    RFC 3339: of the record, or else the time at which it was observed
//	       ext_dt_traceId          32 hex digits, if there is a trace
//	       ext_dt_spanId           16 hex digits
//	       ext_dt_traceFlags       if any is set
//	       ext_cloud_role          service.name of the resource
//	       ext_cloud_roleInstance  service.instance.id of the resource
//	PartB  _typeName               Log
//	       body                    a text, number or boolean; of a list or map its text
//	       severityNumber
//	       severityText            if set
//	       eventId                 the attribute event_id, if it is an integer
//	       name                    the event name, if set
//	PartC  (any)                   each attribute by its key, then the chosen ones of the resource
//	       otel.scope.name         and version, schema_url, attributes: of the scope, if not empty
//	       otel.dropped_attributes_count   if not zero
//	_truncated                     how many values were cut or dropped; only if there are any
//
// An attribute of the program that has the name of a later field of PartC is not written if the record has that field.
// A declared record is in the tracepoint of its severity, once, under its own name. The exporter for Rust writes
// PartC before PartB, lists and maps as empty texts, and no scope. Here lists are arrays and maps are structs, as far
// as the format can hold them.
//
// # Bridges
//
// Bridges of other logging libraries, such as otelslog, take the provider, and ask it before they make a record. Keep the
// handler that the program logs with: slog.SetDefault with a bridge alone leaves no output while no tool is attached, neither
// of slog nor of package log, to which OpenTelemetry writes its errors.
//
// Programs that use nothing else of OpenTelemetry's logs should use package sloghandler, which has no bridge between
// log call and event.
//
// # Differences from the SDK
//
// The events of a [LoggerProvider] are those of the SDK with a [Processor], with the default options of the SDK: the
// same limits, the last value of a key, the observed time, the attributes of an error. These differ:
//
//   - If a method of an error panics, the text says so. With the SDK, Emit panics. Both happen only while an event is
//     enabled.
//   - Loggers are kept by their scopes up to a number. More of them work, and are made each time.
//   - The metric otel.sdk.log.created is not published.
//
// # Metrics
//
// If the environment has OTEL_GO_X_OBSERVABILITY=true, as for the SDK's own metrics, the counts of [uevents.EventStats] are
// published as the metric otel.sdk.processor.log.processed or otel.sdk.exporter.log.exported, through the global
// meter provider. Its attribute error.type is event_disabled for records that were dropped because the event was disabled
// meanwhile, and rejected for those that the kernel refused. A record that was written to two events counts once.
//
// # Overhead
//
// docs/benchmarks.md has the cost in instructions, beside that of other loggers. When disabled, Logger, Enabled and Emit
// of a [LoggerProvider] do not allocate; nor do they when enabled, unless a body or an attribute is a list or a map, or
// the record has an error. The same is true of OnEmit. Emit of the SDK's own logger makes the record before it asks a
// processor, even when disabled: ask Enabled first.
package ueventslog
