// Package attrjson appends the attributes of log records and spans to a buffer, as one JSON
// object that people can read in the output of a tracing tool and machines can parse.
//
// The object is valid JSON (RFC 8259). No value
// can move a terminal's cursor, begin a line that looks like a record, disguise text, or
// end the field early. A [Writer] writes an object as a whole; package truncate cuts one that is too large. Writing ordinary
// values takes neither allocation nor reflection.
//
// # Values
//
//	string                    a string
//	bool, integers, floats    true, numbers; NaN and infinities are "NaN", "Infinity", "-Infinity"
//	time.Duration             a number of nanoseconds, as slog.JSONHandler writes it
//	time.Time                 a string in RFC 3339 with nanoseconds
//	[]byte                    a string of base64
//	error                     its text; []error a list of texts
//	nil                       null
//	slog groups               objects; empty ones are omitted
//	slices, maps, anything    as encoding/json writes it
//
// Unsigned integers above the range of int64 keep their value. This is the form that the
// OpenTelemetry specification gives attribute values outside of OTLP.
//
// # Escapes
//
// Escaped are quotes, backslashes, and the characters that package text escapes: control characters, the
// separators U+2028 and U+2029, characters that change the direction of text, and invisible ones. The escapes are
// those of JSON (\n, \u001b, \u202e, and beyond U+FFFF a surrogate pair, \udb40\udc41 for U+E0041), so that every parser
// reverses them. Nothing is escaped for HTML.
//
// A byte that is not valid UTF-8 has no escape in JSON. It becomes a character of the private use area, U+EF00
// plus the byte: 0xff is \uefff. Characters of the text that are between U+EF80 and U+EFFF are written as their
// bytes in the same way, so that [text.UnescapeJSON] always returns the original.
package attrjson
