package eventheader

import "github.com/userevents/userevents-go/tracepoint"

// Payload limits in bytes, counted from the header's first byte on.
const (
	// DefaultLimit is what ftrace keeps: it discards larger payloads silently.
	DefaultLimit = tracepoint.MaxPayload
	// MaxLimit is what producers of other languages allow.
	MaxLimit = 65467
)

// Names of the fields that an encoder adds.
const (
	// TruncatedField is the last field of an event that lost something to a limit: an
	// unsigned integer of 16 bits that says how many values were cut and how many
	// fields were dropped.
	TruncatedField = "_truncated"
	// OverflowField is the last child of a struct that would have more than 127, and
	// the last field of an event that would have more than 254: a struct with the
	// others.
	OverflowField = "_overflow"
)

// Limits of the decoders in C++ and Rust; the others are more lenient.
const (
	maxFields  = 255 - 1  // of an event; one is kept for TruncatedField
	maxNesting = 8        // levels of structs
	maxItems   = 4096 - 2 // steps of an event; one finds its end, one is TruncatedField's
)

const (
	maxNameSize = 255 // bytes of an event's name; the format has no limit of its own

	noName        = "_" // for an empty one
	typeSize      = 3   // NUL, encoding and format after a field's name
	truncatedSize = len(TruncatedField) + 2 + 2

	// An encoder does not hold on to larger buffers.
	maxKept = 1 << 16
)
