// Package eventheader writes and reads events in EventHeader, a self-describing format for the payload of user_events tracepoints: names and
// types of the fields are in each event, next to the values. The header file eventheader.h of github.com/microsoft/LinuxTracepoints defines the
// format. perf-decode, one_collect and the agents that build on them read it; ftrace and perf show only the eight bytes of its header.
//
// All events of one [Name] share one tracepoint. An [Encoder] appends one payload to a buffer of the caller's, field by field. It retains neither
// names nor values, and does not allocate once the buffer is large enough. Texts are escaped as package
// [github.com/userevents/userevents-go/internal/text] says, in JSON in its own notation.
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
// [Decode] reads the header, a [Cursor] the fields without allocating. They accept any bytes: the work for an event is bounded, whatever its
// counts claim, and nothing outside of the payload is read. They take both byte orders, and events that other producers write but this package
// does not: UTF-16, UTF-32, Latin-1, XML, zero-terminated strings, tags, arrays of structs, attributes in names.
//
// Without a format that fits its size, a value of up to 64 bits is unsigned, one of 128 bits and a binary hexbytes, and a string UTF. A text that is
// not valid UTF-8 is read as Latin-1 where it is not.
package eventheader
