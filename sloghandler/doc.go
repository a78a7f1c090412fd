// Package sloghandler is a [slog.Handler] that makes every log record a Linux user_events
// tracepoint, which perf, trace-cmd and ftrace can see, filter, count and record.
//
// A handler called myapp registers four events, one for each range of levels: attaching to an event selects the level,
// and an enabled level costs the others nothing.
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
//	u32 truncated                         how many texts and attributes were cut or dropped because the record did not fit
//	u8 duplicate                          1: the record was also written to the event of its declaration, right before
//	__data_loc char[] message             as text.Append writes it: one line of printable characters
//	__data_loc char[] source              function, file and line; empty unless [Options.AddSource]
//	__data_loc char[] attributes          one JSON object; groups are objects in it
//
// The fields are fixed: all programs of a machine share one namespace of events, and two
// versions of a program with other fields could not run at the same time. All adapters of this module may have the same name: no
// event of one has the name of an event of another.
//
// # Declared records
//
// [Declare] gives the records of one message an event of their own, in which the fields of a struct type are fields of
// their own type: the kernel filters by them (status >= 500) and adds them up
// (hist:keys=route,status:vals=latency_ns). The event has the fields above with the declared
// ones in the place of duplicate and message. Log calls stay as they are. [Declaration.Logger] is a faster way for hot paths.
//
// The event of a level has all records of that level, declared or not. While both events are enabled, the record is
// written to both, first to that of its declaration, by the same thread. The copy has duplicate=1, so that a tool that is
// attached to both can show the record once: set the filter duplicate == 0 on the level's event. It has 0 if the kernel
// did not take the first one. A filter of the declaration's event is unknown to the program: records that this filter
// rejects have duplicate=1, too.
//
// While only the event of a declaration is enabled, so is the handler, for the levels of the declaration: slog asks
// about a level and not about a message.
//
// # Truncated records
//
// A record has at most [Options.MaxPayload] bytes, by default what every tracing tool keeps. In a larger record, the longest
// texts are cut to equal shares, wherever they are: message, attributes, bound ones, elements of arrays. They end in "..." then.
// Numbers, booleans, ids and texts of up to 64 bytes stay whole. If that is not enough, attributes are dropped, those with long
// values first. The field truncated counts the texts and attributes that were cut or dropped, and [uevents.EventStats] the records.
//
// # EventHeader
//
// With the encoding [EventHeader] there is one tracepoint for each range of levels, such as
// myapp_L4K2 (levels 5, 4, 3 and 2 for debug, info, warn and error), for perf-decode and
// agents that read the format of LinuxTracepoints. The event in it is called slog, or by the
// name of the declaration, and has the fields time_unix_nano, level, trace_id, span_id,
// message, source and the struct attributes; a field without a value is omitted. A declared record has the declared fields in
// the place of message. A truncated record has the field _truncated, which counts what was cut or dropped. There is no
// field duplicate: each record is written once.
//
// # Differences from slog.JSONHandler
//
// The object of attributes is what [slog.JSONHandler] writes, as parsed JSON, except for these values:
//
//   - Bytes that are not valid UTF-8 are kept (text.UnescapeJSON and text.Unescape restore them). JSONHandler writes U+FFFD.
//   - NaN and the infinities are "NaN", "Infinity" and "-Infinity". JSONHandler writes an error.
//   - A time.Time before the year 0 or after 9999 is written. JSONHandler writes an error and a text that is no JSON.
//   - Errors in []error and []any are their texts. JSONHandler writes {}.
//   - Maps and slices that hold themselves are written as deep as there is room. JSONHandler writes an error.
//   - A LogValuer that returns a group with itself is cut. JSONHandler overflows the stack, which ends the program.
//   - A *slog.Source without values is an object of empty fields. JSONHandler leaves it out.
//   - A group whose only member is a zero Attr is omitted. JSONHandler omits a comma.
//   - If ReplaceAttr or a Leveler panics, the record is written. JSONHandler panics.
//
// With the encoding EventHeader also:
//
//   - Names have no escapes: a semicolon, a byte that is not valid UTF-8 and whatever is not printable are underscores, as is an empty name.
//   - Times are in UTC, and nil in []error is the text <nil>.
//   - Groups more than 29 deep are dropped and counted.
//
// # Overhead
//
// docs/benchmarks.md has the cost in instructions, beside that of other loggers. Writing an enabled record takes one system call for each
// event. It does not allocate, except for what [TypedLogger.Log] says about the event of the level.
//
// The cost of a disabled call depends on its form, since slog converts the arguments of Info, Debug and so on to interfaces
// before it asks any handler. From the most to the least:
//
//	logger.Info(msg, "status", status, ...)            an allocation for each argument that is not constant
//	logger.LogAttrs(ctx, level, msg, slog.Int(...))    no allocation; the attributes are made
//	if logger.Enabled(ctx, level) { ... }              no allocation
//	if events.Enabled(ctx, level) { ... }              no allocation, no interface call
//
// With reads the values that it binds at once: LogValuers are resolved and structs are marshalled, whether an event is enabled or not.
// Later changes of what they refer to are not in records.
//
// Under [slog.NewMultiHandler], next to an enabled handler, slog makes the record in any case, and asks this handler once more.
//
// Before Linux 6.4 the kernel assigns the status words; the check loads each word in use, normally one.
package sloghandler
