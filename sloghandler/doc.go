// Package sloghandler is a [slog.Handler] that makes every log record a Linux user_events
// tracepoint, which perf, trace-cmd and ftrace can see, filter, count and record.
//
// A handler called myapp registers four events, one for each range of levels, so that
// whoever attaches chooses the level from outside, and tracing one range costs the others
// nothing:
//
//	myapp_debug   levels below 0, such as slog.LevelDebug
//	myapp_info    0 to 3
//	myapp_warn    4 to 7
//	myapp_error   8 and above
//
// All have these fields, of plain types that every tool prints:
//
//	u64 time_unix_nano                    nanoseconds since 1970; 0 for a record without a time
//	s32 level                             slog's number: -4 debug, 0 info, 4 warn, 8 error
//	__data_loc char[] trace_id            lower-case hex digits; empty without a trace
//	__data_loc char[] span_id             the same
//	u32 truncated                         how many texts and attributes were cut or left out to fit
//	__data_loc char[] message             as text.Append writes it: one line of printable characters
//	__data_loc char[] source              function, file and line; empty unless [Options.AddSource]
//	__data_loc char[] attributes          one JSON object; groups are objects in it
//
// The fields are fixed: all programs of a machine share one namespace of events, and two
// versions of a program with other fields would get in each other's way.
//
// # Declared records
//
// A [Record] declares what the records of one message carry. They go to an event of their
// own, in which attributes are fields of their own type, wherever they came from: the
// kernel filters by them (status >= 500) and adds them up
// (hist:keys=route,status:vals=latency_ns). The event has the fields above with the declared
// ones in the place of message.
//
// A tracer of such an event enables the handler for the levels at which the record is logged,
// since slog asks about a level and not about a message. [Handler.Guard] is more precise.
//
// # EventHeader
//
// With the encoding [EventHeader] there is one tracepoint for each range of levels, such as
// myapp_L4K1 (levels 5, 4, 3 and 2 for debug, info, warn and error), for perf-decode and
// agents that read the format of LinuxTracepoints. The event in it is called Log, or by the
// name of the declared record, and has the fields time_unix_nano, level, trace_id, span_id,
// message, source and the struct attributes, those without a value left out. A field
// _truncated counts what was cut.
//
// # Overhead
//
// docs/benchmarks.md has the cost in instructions, beside that of other loggers. An enabled call does not allocate.
//
// The cost of a disabled call depends on its form, since slog converts the arguments of Info, Debug and so on to interfaces
// before it asks any handler. From the most to the least:
//
//	logger.Info(msg, "status", status, ...)            an allocation for each argument that is not constant
//	logger.LogAttrs(ctx, level, msg, slog.Int(...))    no allocation; the attributes are made
//	if logger.Enabled(ctx, level) { ... }              no allocation
//	if events.Traced(level) { ... }                    no allocation
//
// Under [slog.NewMultiHandler], next to an enabled handler, slog makes the record in any case, and asks this handler once more.
//
// Before Linux 6.4 the kernel assigns the status words; the check loads each word in use, normally one.
package sloghandler
