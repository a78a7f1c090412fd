// Package ueventslog writes OpenTelemetry's log records as Linux user_events, which tracing tools (uevents, perf, ftrace, trace-cmd) watch,
// filter, count and record.
//
//	provider, err := ueventslog.NewLoggerProvider("myapp")
//	if err != nil {
//		log.Print(err) // why there are no events; the provider works
//	}
//	defer provider.Shutdown(context.Background())
//	events := otelslog.NewHandler("my/package", otelslog.WithLoggerProvider(provider))
//	slog.SetDefault(slog.New(slog.NewMultiHandler(slog.NewJSONHandler(os.Stderr, nil), events)))
//
// Programs that use nothing else of OpenTelemetry's logs should use package sloghandler. A handler of otelslog alone as the default of slog leaves
// no output while no tool is attached, neither of slog nor of package log, to which OpenTelemetry writes its errors.
//
// There are three ways to the same events: [NewLoggerProvider] takes the place of the SDK and is the fastest, if tracing tools are the
// only destination of the log records; [NewProcessor] is for an SDK's provider, beside other processors; [NewExporter] is for pipelines
// that need an exporter. The first two write a record where and when it is emitted.
//
// # Events
//
// A provider called myapp registers one event for each range of severities: myapp_log_debug (severity numbers 1 to 8), myapp_log_info (9
// to 12, and none), myapp_log_warn (13 to 16) and myapp_log_error (17 to 24). docs/wire-formats.md has their fields and those of the Common
// Schema, and says how a record above 4064 bytes, or the limit of [WithMaxPayload], is truncated. [uevents.EventStats] counts such records.
//
// Records with an event name that [Declare] declares have an event of their own, in which attributes are fields, by which the kernel
// filters and aggregates. They are also written to the event of their severity, as copies with duplicate=1: see Declared records in package sloghandler.
//
// # Differences from the SDK
//
// The events of a [LoggerProvider] are those of the SDK with a [Processor] and the SDK's default options: the same limits, the last value of a key,
// the observed time, the attributes of an error. But if a method of an error panics, the text says so, where Emit of the SDK panics, while
// an event is enabled; and the metric otel.sdk.log.created is not published.
//
// If OTEL_GO_X_OBSERVABILITY is true, as for the SDK's own metrics, the counts of Stats are the metric otel.sdk.processor.log.processed
// or otel.sdk.exporter.log.exported of the global meter provider. Its attribute error.type is event_disabled for records that were dropped
// because the event was disabled meanwhile, and rejected for those that the kernel refused. A record that was written to two events counts once.
//
// # Overhead
//
// When disabled, Logger, Enabled and Emit of a [LoggerProvider] do not allocate; nor do they when enabled, unless a body or an attribute is
// a list or a map, or the record has an error. The same is true of OnEmit. Emit of the SDK's own logger makes the record before it asks a
// processor, even when disabled: ask Enabled first. docs/benchmarks.md has figures.
package ueventslog
