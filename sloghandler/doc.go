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
//	u64 time_unix_nano            nanoseconds since 1970; 0 for a record without a time
//	s32 level                     slog's number: -4 debug, 0 info, 4 warn, 8 error
//	char[33] trace_id             lower-case hex digits; empty without a trace
//	char[17] span_id              the same
//	u32 truncated                 how many texts and attributes were cut or left out to fit
//	__rel_loc char[] message      as typed.AppendText writes text: no control characters
//	__rel_loc char[] source       function, file and line; empty unless [Options.AddSource]
//	__rel_loc char[] attributes   one JSON object; groups are objects in it
//
// The fields are fixed: all programs of a machine share one namespace of events, and two
// versions of a program with other fields would get in each other's way.
//
// # What it costs
//
// While nobody traces a level, [Handler.Enabled] is one load and one branch, and a guarded
// call or one of [slog.Logger.LogAttrs] without arguments that allocate costs little more.
// slog.Info(msg, "key", value) puts its arguments into interfaces before any handler is
// asked, which allocates; guard it with Enabled where that matters. While somebody traces,
// a record is one system call and no allocation.
//
// Under [slog.NewMultiHandler], next to a handler that is enabled, slog makes the record
// anyway; what this handler saves is its own work.
package sloghandler
