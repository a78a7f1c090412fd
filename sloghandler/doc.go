// Package sloghandler is a [slog.Handler] that writes log records as Linux user_events, which tracing tools (uevents, perf, ftrace,
// trace-cmd) watch, filter, count and record while the program runs. While no tool is attached, the handler is disabled.
//
//	events, err := sloghandler.New("myapp", nil)
//	if err != nil {
//		log.Print(err) // why no tool can attach; the handler works, and stays disabled
//	}
//	slog.SetDefault(slog.New(slog.NewMultiHandler(slog.NewJSONHandler(os.Stderr, nil), events)))
//
// A handler called myapp registers the events myapp_debug, myapp_info, myapp_warn and myapp_error. Attaching to an event selects
// the level, and an enabled level costs the others nothing. All adapters of this module may have the same name: no event of one has the
// name of an event of another. docs/wire-formats.md has the fields, which are the same in all programs.
//
// # Declared records
//
// [Declare] gives the records of one message an event of their own, in which the fields of a struct type are fields of their own
// type: the kernel filters by them (status >= 500) and adds them up (hist:keys=route,status:vals=latency_ns). Log calls stay as they
// are. [Declaration.Logger] is a faster way for hot paths.
//
// The event of a level has all records of that level, declared or not. While both events are enabled, the record is written to both, first
// to that of its declaration, by the same thread. The copy has duplicate=1, so that a tool that is attached to both can show the
// record once: set the filter duplicate == 0 on the level's event. It has 0 if the kernel did not take the first one. The program does not
// know a tool's filter of the declaration's event: records that this filter rejects have duplicate=1, too.
//
// While only the event of a declaration is enabled, the handler is enabled for the declaration's levels: slog asks about a level, and not
// about a message.
//
// # Limits
//
// A record has at most [Options.MaxPayload] bytes, by default 4064, which every tool keeps. In a larger one, the longest texts are
// cut to equal shares; where that is less than 64 bytes each, the last attributes are dropped. The field truncated counts them, and
// [uevents.EventStats] the records.
//
// # Differences from slog.JSONHandler
//
// The attributes are what [slog.JSONHandler] writes, as parsed JSON, except for these values:
//
//   - Bytes that are not valid UTF-8 are kept (text.UnescapeJSON and text.Unescape restore them). JSONHandler writes U+FFFD.
//   - NaN and the infinities are "NaN", "Infinity" and "-Infinity". JSONHandler writes an error.
//   - A time.Time before the year 0 or after 9999 is written. JSONHandler writes an error and a text that is no JSON.
//   - Errors in []error and []any are their texts. JSONHandler writes {}.
//   - Maps and slices that hold themselves are written as deep as there is room. JSONHandler writes an error.
//   - A LogValuer that returns a group with itself is cut. JSONHandler overflows the stack, which ends the program.
//   - A *slog.Source without values is an object of empty fields. JSONHandler omits it.
//   - A group whose only member is a zero Attr is omitted. JSONHandler omits a comma.
//   - If ReplaceAttr or a Leveler panics, the record is written. JSONHandler panics.
//
// # Overhead
//
// Writing an enabled record takes one system call for each event, in shared memory none, and does not allocate, except for what
// [TypedLogger.Log] says about the event of the level. docs/benchmarks.md has figures.
//
// The cost of a disabled call depends on its form, since slog converts the arguments of Info, Debug and so on to interfaces before it asks any
// handler. From the most to the least:
//
//	logger.Info(msg, "status", status, ...)            an allocation for each argument that is not constant
//	logger.LogAttrs(ctx, level, msg, slog.Int(...))    no allocation; the attributes are made
//	if logger.Enabled(ctx, level) { ... }              no allocation
//	if events.Enabled(ctx, level) { ... }              no allocation, no interface call
//
// With reads the values that it binds at once, whether an event is enabled or not: LogValuers are resolved and structs are marshalled. Later
// changes of what they refer to are not in records. Under [slog.NewMultiHandler], next to an enabled handler, slog makes the record in any
// case, and asks this handler once more.
package sloghandler
