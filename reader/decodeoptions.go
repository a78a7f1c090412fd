package reader

// DecodeOptions are the choices of decoding. The zero value has the default of each.
type DecodeOptions struct {
	// Mode is how much of a record becomes fields of the Event.
	Mode DecodeMode
	// Reuse makes the texts and bytes of an Event share the memory of the record, and its slices, Point and Header that of the
	// record before: they are valid until the Event is decoded into again, or the bytes of the record change. [Event.Clone]
	// returns a copy without these limits. Most records are then decoded without allocating.
	Reuse bool
}

// DecodeMode is how much of a record becomes fields of an [Event].
type DecodeMode uint8

// The modes of decoding.
const (
	// DecodeFull recognises log records, spans and metrics: see docs/wire-formats.md.
	DecodeFull DecodeMode = iota
	// DecodePlain gives fields no meaning. Every event is of [KindOther] and has all fields of its record under their own
	// names and in their order, and texts are as in the record, escapes and JSON included. EventName, Severity and Header of
	// EventHeader events are set.
	DecodePlain
	// DecodeJSON is DecodeFull, but leaves attributes that a program wrote as JSON in Event.FieldsJSON, where this is the JSON
	// that [AppendJSON] would write, and the record has no other fields. Event.Fields is then empty. It is for tools that write
	// JSON: most attributes are neither parsed nor encoded again.
	DecodeJSON
	// DecodeNone sets only System, Name and Decoder, for tools that store records as they are or decode them later. With a
	// condition, a declared record has no copy in the event of its level, which DecodeNone and DecodePlain else return, too.
	DecodeNone
)
