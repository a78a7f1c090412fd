package eventheader

import (
	"fmt"
	"math"

	"github.com/userevents/userevents-go/encode/internal/chars"
)

// Encoder builds events whose fields are known only when they are logged. Call
// [Encoder.Begin], then a method for each field, then [Encoder.End]. The zero
// value is ready. An Encoder can be reused, which saves its allocations, but not
// used concurrently.
//
// What does not fit the payload limit or a decoder's limits is cut, moved to a
// JSON field or left out, as the package's documentation says, and the event
// shows it. Names and texts are made valid and printable: in names, a semicolon and each byte of
// what package text would escape, but for backslashes, become an underscore, as does an empty
// name; texts are escaped. Only a mistake of the
// program, such as a type that a method does not take, is an error of End.
type Encoder struct {
	// The metadata grows in the caller's buffer, the data in one of the encoder's,
	// which End appends: one copy, and neither has to move while both grow.
	meta []byte
	data []byte

	room  int // bytes of the limit that are left if all values are cut
	items int // that decoders still take, after all that fit the open structs
	frame     // the open struct, or the event

	order order
	limit int
	start int // of the event in meta
	sized int // of the metadata's size in meta
	first int // of the first field in meta

	parents  []frame
	overflow []byte // JSON of the fields beyond a struct's limit
	keep     []int  // where in data the texts are that must not be cut
	skipped  int    // open structs that are left out
	saved    int    // room, while it is made negative so that their fields are refused
	lost     int    // for TruncatedField
	err      error
}

// mark is a state to return to.
type mark struct{ meta, data, room, items, keep int }

// frame is an open struct, or the event itself.
type frame struct {
	// spare is how many fields fit before the last one that does. At -1 it is the turn
	// of the last one, which makes room for OverflowField if another one follows.
	spare    int
	size     int  // spare of an empty frame
	format   int  // of the struct's number of children in meta
	begin    mark // before the struct's own field
	last     mark // before the last field that fits
	spilled  bool // it has JSON
	overflow int  // where that begins in Encoder.overflow
}

// Begin starts an event. It will be appended to dst, which the caller must not
// use before [Encoder.End] returns it. The payload, from the header on, will have
// at most limit bytes; 0 means [DefaultLimit] and more than [MaxLimit] means
// that. The activity id and the related activity id are optional.
//
// A caller that passes the result to the kernel begins with 4 bytes in dst for
// the write index. They do not count.
func (e *Encoder) Begin(dst []byte, h *Header, limit int, activity ...UUID) {
	if h == nil {
		h = &Header{} // whose level is refused
	}
	e.start = len(dst)
	e.limit = clampLimit(limit)
	e.lost = 0
	dst, e.order = h.appendHeader(dst, activity)
	e.sized = len(dst) - extensionSize
	name := h.Name
	if len(name) == 0 || len(name) > maxNameSize {
		name = e.eventName(name)
	}
	named := len(dst)
	dst = append(dst, name...)
	if oddName(name) {
		repairName(dst[named:])
	}
	dst = append(dst, 0)
	e.meta, e.first = dst, len(dst)
	e.room = e.limit - (len(dst) - e.start) - truncatedSize

	e.data = e.data[:0]
	e.parents = e.parents[:0]
	e.overflow = e.overflow[:0]
	e.keep = e.keep[:0]
	e.items = maxItems - maxFields
	e.spare, e.size, e.spilled = maxFields-1, maxFields-1, false
	e.skipped, e.err = 0, nil
	if !h.Level.valid() {
		e.err = invalidf("event %q: level %d is not between %d and %d", h.Name, h.Level, LevelCritical, LevelVerbose)
	}
}

func clampLimit(limit int) int {
	if limit <= 0 {
		return DefaultLimit
	}
	return min(limit, MaxLimit)
}

// field appends a field's metadata if its data fits, of which size bytes cannot be cut.
func (e *Encoder) field(name string, t Type, size int) bool {
	e.room -= len(name) + typeSize + size
	e.spare--
	if e.room|e.spare|(len(name)-1) < 0 {
		var fits bool
		if name, fits = e.crowded(name, size); !fits {
			return false
		}
	}
	meta := append(e.meta, name...)
	if oddName(name) {
		repairName(meta[len(e.meta):])
	}
	if f := byte(t >> 8); f != 0 {
		e.meta = append(meta, 0, byte(t)|chainFlag, f)
	} else {
		e.meta = append(meta, 0, byte(t))
	}
	return true
}

// crowded decides about a field that one of the limits concerns, or that has no name.
func (e *Encoder) crowded(name string, size int) (string, bool) {
	e.room += len(name) + typeSize + size
	e.spare++
	if e.skipped > 0 {
		return "", false
	}
	if e.spare < 0 {
		e.spill()
	}
	if name == "" {
		name = noName
	}
	cost := len(name) + typeSize + size
	if e.room < cost {
		e.lost++
		return "", false
	}
	if e.spare == 0 {
		e.last = e.mark()
	}
	e.room -= cost
	e.spare--
	return name, true
}

func (e *Encoder) mark() mark {
	return mark{meta: len(e.meta), data: len(e.data), room: e.room, items: e.items, keep: len(e.keep)}
}

func (e *Encoder) rollback(m mark) {
	e.meta, e.data, e.keep = e.meta[:m.meta], e.data[:m.data], e.keep[:m.keep]
	e.room, e.items = m.room, m.items
}

// End returns dst with the event appended. On an error dst is as it was before
// Begin: [ErrInvalid] if a level or a type was wrong, [ErrTooLarge] if the limit
// is too small for a header and a name. Structs that are still open are closed.
func (e *Encoder) End() ([]byte, error) {
	for e.skipped|len(e.parents) != 0 {
		e.EndStruct()
	}
	if e.spilled {
		e.endOverflow()
	}
	size := len(e.meta) - e.start + len(e.data)
	if size > e.limit || e.lost > 0 || e.err != nil || e.first == 0 {
		if err := e.problem(); err != nil {
			dst := e.meta[:e.start]
			e.close()
			return dst, err
		}
		e.truncate(size)
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
		return fmt.Errorf("%w: header and name need %d bytes of %d", ErrTooLarge, e.first-e.start+truncatedSize, e.limit)
	}
	return nil
}

// truncate cuts what is too large and adds TruncatedField.
func (e *Encoder) truncate(size int) {
	var cut int
	e.data, cut = fit(e.meta[e.first:], e.data, e.order, e.keep, size+truncatedSize-e.limit)
	e.lost += cut
	e.meta = appendTruncatedMeta(e.meta)
	e.data = e.order.append16(e.data, uint16(min(e.lost, math.MaxUint16)))
}

// Lost returns how many values the event that End returned last has lost to a limit, or of
// which a part is missing: what [TruncatedField] says, or 0 if there is no such field.
func (e *Encoder) Lost() int { return e.lost }

// close makes sure that nothing can be added and that nothing large is kept.
func (e *Encoder) close() {
	e.meta, e.room, e.spare, e.start, e.first = nil, 0, 0, 0, 0
	if max(cap(e.data), cap(e.overflow)) > maxKept {
		e.data, e.overflow = nil, nil
	}
}

func appendTruncatedMeta(meta []byte) []byte {
	return append(append(meta, TruncatedField...), 0, byte(Value16))
}

// eventName returns what takes the place of an empty name or one that is too long.
func (e *Encoder) eventName(name string) string {
	if name == "" {
		return noName
	}
	e.lost++
	return chars.Clip(name, maxNameSize)
}
