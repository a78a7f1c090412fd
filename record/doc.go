// Package record decodes the records that programs write to Linux tracepoints, above all to user_events, in the kernel and in shared memory. Each
// record, of any program, language and encoding, becomes one [Record] with time, kind, severity, message, ids and fields.
//
// Package reader reads records while programs write them. To decode records of another origin, such as a perf.data file, create a [Decoder]
// from the tracepoint's format:
//
//	d, err := record.NewDecoder("user_events", format)
//	...
//	for ... {
//		if err := d.Decode(raw, &rec); err != nil { ... }
//	}
//
// An [Encoder] writes a record as the JSON object that the command prints, and a [Parser] reads it. [Members] are the members of this object.
//
// Package where selects records by what they say.
//
// # Kinds of records
//
// The fields of an event determine its Kind, not its name: docs/wire-formats.md lists them. So log records, spans and data points of
// programs in other languages are recognised, too, also in the Common Schema of OpenTelemetry's exporters for C++, .NET and Rust and in otlp_metrics.
//
// All other events are of [KindOther] and keep all their fields: events of the kernel, of C programs and of package structevent, and other
// EventHeader events, whose level sets the severity and whose name sets EventName. An address (a C pointer) is a text in hexadecimal, such as
// 0x7ffd12345678.
//
// # Fields
//
// The members of the JSON objects attributes and resource become fields. Numbers without fraction and exponent are integers, exact up to 64
// bits. A text that is not a JSON object stays a text. Typed events have integers and texts only: a declared boolean is 0 or 1, a declared
// floating-point number is its text. If several fields have the same name, the last one counts: an attribute with the name of a declared field has a
// value that this field cannot hold. In events of [KindOther] all are kept: the fields x, x and x become x, x_2 and x_3, also within structs.
//
// A field with an invalid value, such as a trace id of 5 digits, and a field that the kind does not have stay in [Record.Fields]. Record.Fields also has the
// attributes that OpenTelemetry's exporters write for lack of a field, such as otel.scope.version and user_events.trace_state. Numbers in
// millionths are omitted: the record has the exact numbers, too. The source of a log call becomes code.function.name, code.file.path and
// code.line.number.
//
// Decode reverses the escapes in texts of this module's adapters. Texts in events of KindOther are unchanged, and so are texts of other programs
// in the Common Schema, with one exception: a log record of the exporter for Rust has the same fields as a log record of this module
// without attributes. In such a record, Decode turns a backslash followed by n into a newline even if the Rust program logged these two
// characters.
//
// In EventHeader events, times, UUIDs and IP addresses are texts, formatted as package eventheader formats them in JSON. JSON texts become lists
// and maps.
//
// # Hostile records
//
// Programs can write any bytes. Decode never reads outside the record, does a bounded amount of work for any content, and returns a Record for any
// record of the right layout. Texts in the Record may hold anything, such as terminal escapes, newlines and bytes that are not UTF-8: print
// them with [Value.AppendText] or [AppendJSON]. Lists and maps of JSON may be nested up to 1,000 deep. A record whose arrays of structs would
// have more than 1 MiB of names is malformed.
package record
