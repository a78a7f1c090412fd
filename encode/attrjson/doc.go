// Package attrjson appends the attributes of log records and spans to a buffer, as one JSON
// object that people can read in the output of a tracer and machines can parse.
//
// The object is valid JSON (RFC 8259) in ASCII-safe control: whatever a value holds, it
// cannot move a terminal's cursor, begin a line that looks like a record, disguise text, or
// end the field early. It has a limit in bytes, and stays valid when values are cut or left
// out to keep it. Writing ordinary values takes neither allocation nor reflection.
//
// # Values
//
//	string                    a string
//	bool, integers, floats    true, numbers; NaN and infinities are "NaN", "Infinity", "-Infinity"
//	time.Duration             a number of nanoseconds, as slog.JSONHandler writes it
//	time.Time                 a string in RFC 3339 with nanoseconds
//	[]byte                    a string of base64
//	error                     its text
//	nil                       null
//	slog groups               objects; empty ones are left out
//	slices, maps, anything    as encoding/json writes it
//
// Unsigned integers above the range of int64 keep their value. This is the form that the
// OpenTelemetry specification gives attribute values outside of OTLP.
//
// # Escapes
//
// Escaped, as \n, \t and the like or as \u00XX, are quotes and backslashes, the control
// characters U+0000 to U+001F and U+007F to U+009F, the separators U+2028 and U+2029, and
// the characters that change the direction of text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066
// to U+2069). A byte that is not valid UTF-8 becomes U+FFFD. Nothing is escaped for HTML.
package attrjson
