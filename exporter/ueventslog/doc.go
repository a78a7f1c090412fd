// Package ueventslog makes the log records of OpenTelemetry Linux user_events tracepoints, which
// perf, trace-cmd and ftrace can see, filter, count and record.
//
//	processor, err := ueventslog.New("myapp")
//	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(processor))
//	logger := ueventslog.NewLoggerProvider(provider, processor).Logger("my/package")
//
// [New] returns a [Processor], which is what to use: it writes a record where and when it is
// emitted, and its Enabled lets bridges skip the work while nobody traces. [NewLoggerProvider]
// puts a gate in front of the SDK that costs one branch, for providers that have no other
// processor. [NewExporter] is for pipelines that want an exporter.
//
// # Events
//
// What is called myapp registers four events, one for each range of severities, so that
// whoever attaches chooses the severity from outside, and tracing one range costs the others
// nothing:
//
//	myapp_debug   severity numbers 1 to 8, TRACE and DEBUG
//	myapp_info    9 to 12, and records without a severity
//	myapp_warn    13 to 16
//	myapp_error   17 to 24, ERROR and FATAL
//
// All have these fields, of plain types that every tool prints:
//
//	u64 time_unix_nano                    nanoseconds since 1970; 0 for a record without a timestamp
//	u64 observed_time_unix_nano           the same, of the time at which the SDK saw the record
//	s32 severity_number                   1 to 24; 0 if it is not set
//	__data_loc char[] trace_id            lower-case hex digits; empty without a trace
//	__data_loc char[] span_id             the same
//	u8 trace_flags                        1: the span is sampled
//	u32 truncated                         how many texts and attributes were cut or left out to fit
//	u32 dropped_attributes_count          how many attributes the SDK dropped to keep its limits
//	__data_loc char[] severity_text       the severity's name at the source of the record
//	__data_loc char[] event_name
//	__data_loc char[] body                a text as it is, any other value as its text
//	__data_loc char[] scope_name          of the instrumentation scope, which is the logger's name
//	__data_loc char[] scope_version
//	__data_loc char[] service_name        service.name of the resource
//	__data_loc char[] resource            one JSON object, see [WithResourceAttributes]; empty without
//	__data_loc char[] attributes          one JSON object
//
// Texts are one line of printable characters, as text.Append of package encode/text writes them. Values in attributes and
// resource, and bodies that are no text, have the form that OpenTelemetry's specification
// gives values outside of its own protocol: lists and maps are JSON, bytes are base64. The
// schema URL and the attributes of a scope are rare and become the attributes
// otel.scope.schema_url and otel.scope.attributes.
//
// An error that was given to log.Record.SetErr is in the attributes exception.message and
// exception.type, which the SDK makes of it.
//
// The fields are fixed: all programs of a machine share one namespace of events, and two
// versions of a program with other fields would get in each other's way.
//
// # Declared records
//
// Records whose event name was declared by [WithRecords] go to an event of their own, in which
// attributes are fields of their own type. Beside these it has the fields above without
// dropped_attributes_count, severity_text, event_name and scope_version: a declaration has
// 511 bytes. The name of the event stands for event_name. The others are
// in attributes if they say something, as otel.dropped_attributes_count,
// otel.scope.version and, if it is not the name that OpenTelemetry has for the number,
// severity_text.
//
// # Limits
//
// A record has at most 4064 bytes, which every tracer keeps, or what [WithMaxPayload] says.
// Each short text gets at most a tenth of that, the resource an eighth; then come declared fields,
// and of the rest the body gets as much as it needs, up to half, and the attributes what is
// left. What is cut ends in an ellipsis and counts in truncated and in [Stats].
//
// # The Common Schema
//
// With [CommonSchema4] the events are those of the EventHeader format, one for each level, with
// the names, types and order of fields that OpenTelemetry's exporter for Rust writes:
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
//	       ext_cloud_role          service.name of the resource
//	       ext_cloud_roleInstance  service.instance.id of the resource
//	PartC  (any)                   each attribute by its key, then those of the resource that were chosen
//	       otel.scope.name         and version, schema_url, attributes: of the scope, if not empty
//	       otel.dropped_attributes_count   if not zero
//	PartB  _typeName               Log
//	       body                    a text, number or boolean; of a list or map its text
//	       severityNumber
//	       severityText            if set
//	       eventId                 the attribute event_id, if it is an integer
//	       name                    the event name, if set
//
// The exporter for Rust writes lists and maps as empty texts, and no scope. Here lists are arrays and
// maps are structs, as far as the format can hold them. Where names of attributes take more
// than half of the limit, PartB comes before PartC, so that the body is not what is left out.
//
// # Bridges
//
// Bridges of other logging libraries take the provider, and ask it before they make a record:
//
//	slog.SetDefault(otelslog.NewLogger("my/package", otelslog.WithLoggerProvider(gated)))
//
// A program that uses nothing else of OpenTelemetry's logs is better off with package
// sloghandler, which has no SDK between log call and event.
//
// # Metrics about it
//
// The counts of Stats are the metric otel.sdk.processor.log.processed or otel.sdk.exporter.log.exported, too,
// if the environment has OTEL_GO_X_OBSERVABILITY=true, as for the SDK's own. Its attribute
// error.type is not_traced where the last tracer left meanwhile, and refused where the kernel did.
// They go to the global meter provider.
//
// # Overhead
//
// docs/otep.md and docs/benchmarks.md have the cost in instructions. While no tracing tool is attached, Emit and Enabled of a gated
// logger cost a fraction of those of the SDK's logger, and do not allocate. Emit of the SDK's logger always copies the
// record, with an allocation: call Enabled first if the logger is not gated. With a tool attached, the SDK's part of Emit is larger than
// that of OnEmit, which allocates only for lists and maps, in attributes or as the body.
package ueventslog
