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
// There are three ways to the same events: [NewLoggerProvider] takes the place of the SDK and is the fastest, if tracing
// tools are the only destination of the log records; [NewProcessor] is for an SDK's provider, beside other processors;
// [NewExporter] is for pipelines that need an exporter. The first two write a record where and when it is emitted.
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
// Their fields, and those of the Common Schema, are in docs/wire-formats.md. They are fixed, since all programs of a machine share
// one namespace of events. No event of another adapter of this module with the name myapp has the name of one of these.
//
// The records with an event name that [Declare] declares have an event of their own, in which attributes are fields, by
// which the kernel filters and aggregates. They also belong to the event of their severity. If both events are enabled, the record
// is written to both, first to that of its declaration, by the same thread. The copy has duplicate=1, so that a tool that is attached
// to both can show the record once, and 0 if the kernel did not take the first one. A filter of the first event is
// unknown to the program: records that the filter rejects have duplicate=1, too.
//
// # Limits
//
// A record has at most 4064 bytes, which every tracing tool keeps, or the limit that [WithMaxPayload] sets. If a
// record is larger, texts of more than 64 bytes are cut first, the longest ones to equal shares; they end in "...".
// If that is not enough, attributes are dropped, those with long values first. Numbers, booleans, ids and short texts
// stay as long as there is room for them. The field truncated and [uevents.EventStats] count what was cut or dropped.
//
// # Differences from the SDK
//
// The events of a [LoggerProvider] are those of the SDK with a [Processor], with the default options of the SDK: the
// same limits, the last value of a key, the observed time, the attributes of an error. But if a method of an error panics, the text
// says so, where Emit of the SDK panics, while an event is enabled; and the metric otel.sdk.log.created is not published.
//
// If the environment has OTEL_GO_X_OBSERVABILITY=true, as for the SDK's own metrics, the counts of Stats are
// published as the metric otel.sdk.processor.log.processed or otel.sdk.exporter.log.exported, through the global
// meter provider. Its attribute error.type is event_disabled for records that were dropped because the event was disabled
// meanwhile, and rejected for those that the kernel refused. A record that was written to two events counts once.
//
// # Overhead
//
// docs/benchmarks.md has the cost in instructions. When disabled, Logger, Enabled and Emit of a [LoggerProvider] do not allocate; nor
// do they when enabled, unless a body or an attribute is a list or a map, or the record has an error. The same is true of OnEmit.
// Emit of the SDK's own logger makes the record before it asks a processor, even when disabled: ask Enabled first.
//
// A handler of otelslog alone as the default of slog leaves no output while no tool is attached, neither of slog nor of package log,
// to which OpenTelemetry writes its errors. Programs that use nothing else of OpenTelemetry's logs should use package sloghandler.
package ueventslog
