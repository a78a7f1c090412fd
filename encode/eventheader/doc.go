// Package eventheader writes and reads events in EventHeader, a self-describing format for the payload of Linux user_events tracepoints: names and
// types of the fields are in each event, next to the values. The header file eventheader.h of github.com/microsoft/LinuxTracepoints defines the
// format. perf-decode, one_collect and the agents that build on them read it; ftrace and perf show only the eight bytes of its header.
//
//	var e eventheader.Encoder
//	e.Begin(nil, &eventheader.Header{Name: "request", Level: eventheader.LevelInfo}, 0)
//	e.String("method", "GET")
//	e.BeginStruct("response")
//	e.Int64("status", 200)
//	e.EndStruct()
//	payload, err := e.End()
//	...
//	ev, err := eventheader.Decode("myapp_L4K1", payload)
//	text, err := ev.AppendFieldsJSON(nil)
//
// A [Name] has a provider, a level and a keyword, which consumers enable. All events of one name share one tracepoint, so that there are few of
// them, and [Name.Declaration] is the same for all: the fields of the header.
//
// # Writing
//
// An [Encoder] appends one payload to a buffer of the caller's, field by field. It retains neither names nor values, and does not allocate once the
// buffer is large enough and it has grown to the size of its events. It writes numbers of all formats, ids, addresses, bytes, texts in
// UTF-8, JSON, nulls, structs, and arrays of numbers, booleans and texts: [Ints], [Floats]. Texts are escaped as
// package [github.com/userevents/userevents-go/internal/text] says, in JSON in its own notation.
//
// # Limits
//
// An event never exceeds its limit, nor those of the decoders in C++, Rust and Go: 255 fields, 127 children of a struct, 8 levels of structs, 4096
// items. Nothing is lost without a trace:
//
//   - The longest texts, binaries and arrays are cut to equal shares. A text is cut between characters or escapes and ends in "...". JSON
//     that is cut becomes plain text. An array of texts is one value, whose texts are cut to equal shares, but to no less than 64 bytes: "..." takes
//     the place of the last ones.
//   - Where shares are less than 64 bytes, the last fields are dropped first: a field stays if it fits behind those before it, with its text or array
//     cut to 64 bytes. So numbers, ids and texts of at most 64 bytes are whole or dropped.
//   - If anything was cut or dropped, [TruncatedField] is the last field and says how often. A field that is dropped counts once, whatever is in it.
//   - Fields that exceed the number which a struct or an event may have are in "_overflow", a struct in the place of the last one. A
//     struct below the eighth level is JSON in a text of its own name.
//   - Structs that follow thousands of array elements may be dropped, since an encoder keeps 128 items for each that is open.
//   - A limit that the header, the event's name and [TruncatedField] exceed is too small for any event.
//   - Only an event's name that is longer than 255 bytes is cut at once.
//
// # Reading
//
// [Decode] reads the header. A [Cursor] reads the fields one after the other without allocating, [Event.AppendFieldsJSON] formats
// them. Both accept any bytes: the work for an event is bounded, whatever its counts claim, and nothing outside of
// the payload is read. They take both byte orders, and events that other producers write but this package does not: UTF-16, UTF-32, Latin-1,
// XML, zero-terminated strings, tags, arrays of structs, attributes in names.
//
//	format             JSON
//	unsigned           1
//	hex                "0xFF"
//	signed, pid        -1
//	errno              "ENOENT(2)"
//	time               "2024-01-01T12:34:56", in UTC
//	bool               true; 2
//	float              0.5; "NaN", "Infinity"
//	hexbytes           "00 ff"
//	uuid               "01020304-0506-0708-090a-0b0c0d0e0f10"
//	port               443
//	ip                 "127.0.0.1"
//	texts              "text"
//	null               null
//
// Without a format that fits its size, a value of up to 64 bits is unsigned, one of 128 bits and a binary hexbytes, and a string UTF. A text that is
// not valid UTF-8 is read as Latin-1 where it is not. In JSON, characters that end a line, control a terminal or change the direction of
// text are escaped.
//
// # Concurrency
//
// An [Event] may be read by several goroutines. An Encoder and a Cursor belong to one goroutine at a time.
package eventheader
