// Package typed writes and reads the records of tracepoints whose fields are declared one by one. Every tool prints such fields, and the kernel itself
// filters, counts and aggregates by them.
//
// A [Plan] copies a Go struct into a payload:
//
//	type HTTPRequest struct {
//		Method  string        `uevent:"method"`
//		Route   string        `uevent:"route"`
//		Status  uint16        `uevent:"status"`
//		Latency time.Duration `uevent:"latency_ns"`
//	}
//	plan, err := typed.PlanFor[HTTPRequest]("myapp_http_request")
//	...
//	buf, truncated = plan.Append(buf, &request, 0)
//
// It appends to a buffer of the caller, which usually begins with the four bytes of a write index, and uses the byte order of the machine, as
// the kernel demands. It does not allocate, except to grow the buffer. [FieldName] makes names of fields of the names of attributes.
//
// # Representations
//
// The kernel has integers and arrays of bytes. Durations are s64 in nanoseconds, times u64 in nanoseconds since 1970, booleans u8; strings, bytes,
// ids, UUIDs, addresses and floating-point numbers are texts. docs/wire-formats.md has a table, and what each tool prints.
//
// The kernel compares and sums integers, and matches texts. So write as an integer what is to be compared or summed: a float with a scale, for
// example. Arrays of integers and structures are for programs that decode records.
//
// No tool extends the sign of an s8 or an s16 when it prints, so that -1 comes out as 255 or 65535; s32 and s64 are right, and [Plan]
// uses no others. ftrace prints a u32 or u64 with the highest bit set as a negative number, behind the right one in hexadecimal, and puts the character in front of a u8 that is one: 'A'(65). [Record.String] prints what perf script and
// trace-cmd report print, except for signs of s8 and s16, which are right, for arrays ({1,2}) and for structures (hex bytes: 01,02).
//
// # Text
//
// Every text is a __data_loc char[] field. Perfetto takes the location of __rel_loc for a number, and drops fixed arrays of char.
//
// Consumers print text as it stands in the record, and stop at a NUL. So text that is not printable is escaped, as package [text] says: a message
// cannot end early, move a terminal's cursor, or forge a line of output. A text that does not fit is cut between two characters or
// escapes, marked by [text.CutMark], and counted.
//
// That does not keep a message from looking like more fields (msg=x status=200): fields are told apart by their place in the record, not in the
// line.
//
// # Reading
//
// A [Decoder] is made of a declaration, or of the format file of an event in tracefs, and reads records of either byte order. The decoded
// record refers to the bytes, and every location was checked to lie within them.
package typed
