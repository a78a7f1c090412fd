// Package typed writes and reads the records of tracepoints whose fields are declared one by one.
// Every tool prints such fields, and the kernel itself filters,
// counts and aggregates by them.
//
// # Writing
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
// It appends to a buffer of the caller, which usually begins with the four bytes of a write
// index, and uses the byte order of the machine, as the kernel demands. It does not
// allocate, except to grow the buffer. [FieldName] makes names of fields of the names of attributes.
//
// # Representations
//
// The kernel has integers, arrays of bytes, and nothing else. This is how other values are
// written, and what is made of that by ftrace's trace file (kernel 6.12), by
// perf script and trace-cmd report, and by the OpenTelemetry collector otel-arrow:
//
//	value                      field               trace file        perf, trace-cmd   otel-arrow
//	integer 404                u16 ... s64         0x194 (404)       404               int
//	bool                       u8, 0 or 1          (1)               1                 int
//	duration, 1.5 µs           s64, nanoseconds    0x5dc (1500)      1500              int
//	time                       u64, ns since 1970  0x17... (17...)   17...             int
//	float 0.25                 __data_loc char[]   0.25              0.25              string
//	  scaled, 0.25 by 1000     s64                 0xfa (250)        250               int
//	string                     __data_loc char[]   text              text              string
//	trace id, span id          __data_loc char[]   hex digits        hex digits        string
//	other [N]byte, []byte      __data_loc char[]   hex digits        hex digits        string
//	UUID                       __data_loc char[]   8-4-4-4-12        8-4-4-4-12        string
//	IP address, prefix         __data_loc char[]   192.0.2.1         192.0.2.1         string
//	[]uint16{1, 2}             __data_loc u16[]    01,00,02,00       the location      unreadable
//	structure                  struct NAME         <INVALID-SIZE>    0                 unreadable
//
// Filters compare integers (latency_ns > 1000000) and match texts (route ~ "/users/*").
// A pattern that begins with a digit matches nothing, since the kernel takes it for something
// else: put a star before it (addr ~ "*192.0.2.*").
// Histograms take both as keys, of a text its first 255 bytes, and sum integers. So
// write as an integer what is to be compared or summed: a float with a scale, for example. Arrays of
// integers and structures are for programs that decode records.
//
// Some details of the tools are worth knowing. None extends the sign of an s8 or an s16 when it prints,
// so that -1 comes out as 255 or 65535; s32 and s64 are right, and [Plan] uses no others. The
// trace file prints the number in parentheses as signed, so that a u32 or u64 with
// the highest bit set looks negative there; the hex number is right. It puts the character in front of
// a u8 that is one: 'A'(65). Before Linux 6.4 it shows user events as a hex dump; perf and
// trace-cmd print them.
//
// [Record.AppendTo] prints what perf script and trace-cmd report print, except for signs of
// s8 and s16, which are right, for arrays ({1,2}) and for structures (hex bytes: 01,02).
//
// # Text
//
// Every text is a __data_loc char[] field: ftrace, its filters and histograms, perf, trace-cmd and Perfetto read it. Perfetto
// takes the location of __rel_loc for a number, and drops fixed arrays of char. (The readers of OpenTelemetry's
// otel-arrow do not know __data_loc; they read package eventheader's events.)
//
// Consumers print text as it stands in the record, and stop at a NUL. So what is not printable is escaped, as
// package [text] says: a message cannot end early, move a terminal's cursor, or forge a line of output. A text that
// does not fit is cut between two characters or escapes, marked by [text.CutMark], and counted.
//
// It cannot keep a message from looking like more fields (msg=x status=200): fields are told apart by their place in
// the record, not in the line.
//
// # Reading
//
// A [Decoder] is made of a declaration, or of the format file of an event in tracefs, and reads
// records of either byte order. The decoded record refers to the bytes, and every location was checked to lie within them.
package typed
