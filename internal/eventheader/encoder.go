package eventheader

import (
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/internal/truncate"
	"github.com/userevents/userevents-go/tracepoint"
)

// Encoder builds events whose fields are known only when they are logged. Call
// [Encoder.Begin], then a method for each field, then [Encoder.End]. The zero
// value is ready. An Encoder can be reused, which saves its allocations, but not
// used concurrently.
//
// An event is built without regard to its limit. Only one that turns out too large is cut, by End, as the
// package's documentation says, so that it does not matter in which order fields come. Names and texts are made
// valid and printable: in names, a semicolon and each byte of what package text would escape, but for backslashes,
// become an underscore, as does an empty name; texts are escaped. Only a mistake of the
// program, such as a level that does not exist, or a limit too small for any event is an error of End.
//
// Until End an Encoder takes memory for all fields. Each name, text, binary and array counts with at most as many
// bytes as the limit has, and there are at most 4096 of them.
type Encoder struct {
	// The metadata grows in the caller's buffer, the data in one of the encoder's,
	// which End appends: one copy, and neither has to move while both grow.
	meta []byte
	data []byte

	items int // that decoders still take, after all that fit the open structs
	frame     // the open struct, or the event

	order order
	limit int

	prefix       []byte // what comes before the fields of an event; empty if the last one was none
	prefixHeader Header // of the prefix, but for the name

	start int // of the event in meta
	sized int // of the metadata's size in meta
	first int // of the first field in meta; 0 outside of Begin and End

	parents []frame

	json    []byte // scratch
	skipped int    // open structs that are dropped
	saved   int    // spare, while it is made negative so that their fields are refused
	lost    int    // for TruncatedField
	err     error
}

// frame is an open struct, or the event itself.
type frame struct {
	// spare is how many fields fit before the last one that does. At -1 that one is
	// written, which the next one moves to overflowField.
	spare       int
	last        offset // where in meta the last field begins that fits
	lastData    offset // where its data begins
	begin       offset // of the struct's own field in meta
	format      offset // of the struct's number of children in meta
	dataBefore  offset // length of the data before the struct
	itemsBefore int32  // that decoders took before it
	overflow    bool   // it is the overflowField of the frame around it
}

// offset is a position in metadata or data. It is small, since frames are copied.
type offset = uint32

// Begin starts an event. It will be appended to dst, which the caller must not
// use before [Encoder.End] returns it. The payload, from the header on, will have
// at most limit bytes; 0 means [tracepoint.MaxPayload]. No event has more than 65467 bytes.
//
// A caller that passes the result to the kernel begins with 4 bytes in dst for
// the write index. They do not count.
func (e *Encoder) Begin(dst []byte, h *Header, limit int) {
	if h == nil {
		h = &Header{} // whose level is refused
	}
	e.start = len(dst)
	e.limit = clampLimit(limit)
	e.lost, e.skipped, e.err = 0, 0, nil
	if cap(dst)-len(dst) >= minEvent && e.isPrefix(h) {
		dst = append(dst, e.prefix...)
		e.sized = e.start + headerSize
	} else {
		dst = e.beginWith(dst, h)
	}
	e.meta = dst
	e.first = len(dst)

	if cap(e.data) < minData {
		e.data = make([]byte, 0, minData)
	}
	e.data = e.data[:0]
	e.parents = e.parents[:0]
	e.items = maxItems - maxFields
	e.spare, e.overflow = maxFields-1, false
}

// isPrefix reports whether the event begins like the one before.
func (e *Encoder) isPrefix(h *Header) bool {
	p := &e.prefixHeader
	return h.Level == p.Level && h.Opcode == p.Opcode && h.ID == p.ID && h.Version == p.Version && h.Tag == p.Tag && h.arch == p.arch &&
		len(e.prefix) > headerSize+extensionSize && h.Name == string(e.prefix[headerSize+extensionSize:len(e.prefix)-1])
}

// beginWith appends what comes before the fields, and remembers it if the next event may begin so too.
func (e *Encoder) beginWith(dst []byte, h *Header) []byte {
	dst, e.order = h.appendHeader(dst)
	e.sized = len(dst) - extensionSize
	name := h.Name
	if uint(len(name)-1) >= maxNameSize {
		name = e.eventName(name)
	}
	dst = append(appendName(dst, name), 0)
	e.prefix = e.prefix[:0]
	if !h.Level.valid() {
		e.err = invalidf("event %q: level %d is not between %d and %d", h.Name, h.Level, LevelCritical, LevelVerbose)
	} else {
		e.prefix = append(e.prefix, dst[e.start:]...)
		e.prefixHeader = *h
		e.prefixHeader.Name = "" // it is not retained
	}
	return dst
}

func clampLimit(limit int) int {
	if limit <= 0 {
		return defaultLimit
	}
	return min(limit, maxLimit)
}

// End returns dst with the event appended. On an error dst is as it was before
// Begin: a level was wrong, or header and name do not fit the limit. Structs that are still open are closed.
func (e *Encoder) End() ([]byte, error) {
	for e.skipped|len(e.parents) != 0 {
		e.pop()
	}
	size := len(e.meta) - e.start + len(e.data)
	if size > e.limit || e.lost > 0 || e.err != nil || e.first == 0 {
		if err := e.problem(); err != nil {
			dst := e.meta[:e.start]
			e.close()
			return dst, err
		}
		e.truncate()
	}
	dst := append(e.meta, e.data...)
	e.order.put16(dst[e.sized:], uint16(len(e.meta)-e.sized-extensionSize))
	e.close()
	return dst, nil
}

// problem returns why there is no event.
func (e *Encoder) problem() error {
	switch {
	case e.err != nil:
		return e.err
	case e.first == 0:
		return errNoBegin
	case e.first-e.start+truncatedSize > e.limit:
		return fmt.Errorf("%w: header and name need %d bytes of %d", errTooLarge, e.first-e.start+truncatedSize, e.limit)
	}
	return nil
}

// truncate cuts what is too large and adds TruncatedField.
func (e *Encoder) truncate() {
	if limit := e.limit - truncatedSize - (e.first - e.start); len(e.meta)-e.first+len(e.data) > limit {
		f := fittings.Get().(*fitting) // not the Encoder's, which would leave the caller's stack
		*f = fitting{meta: e.meta[e.first:], data: e.data, order: e.order}
		e.lost += truncate.Fit(f, limit)
		e.meta, e.data = e.meta[:e.first+len(f.meta)], f.data
		*f = fitting{}
		fittings.Put(f)
	}
	e.meta = appendTruncatedMeta(e.meta)
	e.data = e.order.append16(e.data, uint16(min(e.lost, math.MaxUint16)))
}

var fittings = sync.Pool{New: func() any { return new(fitting) }}

// Lost returns how many values the event that End returned last has lost to a limit, or of
// which a part is missing: the number in [TruncatedField], or 0 if there is no such field.
func (e *Encoder) Lost() int { return e.lost }

// close makes sure that nothing can be added and that nothing large is kept.
func (e *Encoder) close() {
	e.meta, e.spare, e.start, e.first = nil, 0, 0, 0
	if max(cap(e.data), cap(e.json)) > maxKept {
		e.data, e.json = nil, nil
	}
}

func appendTruncatedMeta(meta []byte) []byte {
	return append(append(meta, TruncatedField...), 0, byte(encValue16))
}

// eventName returns what takes the place of an empty name or one that is too long.
func (e *Encoder) eventName(name string) string {
	if name == "" {
		return noName
	}
	e.lost++
	return chars.Clip(name, maxNameSize)
}

// Payload limits in bytes, counted from the header's first byte on.
const (
	// defaultLimit is what ftrace keeps: it discards larger payloads silently.
	defaultLimit = tracepoint.MaxPayload
	// maxLimit is what producers of other languages allow.
	maxLimit = 65467
)

// Names of the fields that an encoder adds.
const (
	// TruncatedField is the last field of an event that lost something to a limit: an
	// unsigned integer of 16 bits that says how many values were cut and how many
	// fields were dropped.
	TruncatedField = "_truncated"
	// overflowField is the last child of a struct that would have more than 127, and
	// the last field of an event that would have more than 254: a struct with the
	// others.
	overflowField = "_overflow"
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

var (
	// errInvalid is wrapped by errors about the arguments of a caller: a name, a type, a level.
	errInvalid = errors.New("invalid EventHeader event")

	// errTooLarge is wrapped by the error of an event that does not fit the
	// payload limit even after all its values were cut.
	errTooLarge = errors.New("EventHeader event does not fit the payload limit")

	// errMalformed is wrapped by every error of the decoder.
	errMalformed = errors.New("malformed EventHeader event")
)

// decodeError says what is wrong with the bytes or the tracepoint name of an
// event that was to be decoded.
type decodeError struct {
	part    string // "name", "header", "metadata" or "data"
	offset  int    // in bytes from the start of the part
	problem string
}

func (e *decodeError) Error() string {
	return fmt.Sprintf("%v: %s, byte %d: %s", errMalformed, e.part, e.offset, e.problem)
}

func (e *decodeError) Unwrap() error { return errMalformed }

var errNoBegin = invalidf("End without Begin")

func invalidf(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errInvalid, fmt.Sprintf(format, args...))
}
