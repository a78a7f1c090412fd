package eventheader

import (
	"fmt"
	"math"
	"slices"
)

// Record builds one event of a [Schema]. Call [Record.Begin], then a method for
// each value in the order of the schema, depth first, then [Record.End]. A
// variable array takes its number of elements first, see [Record.Count]; an
// array of structs takes the children's values once for each element. The zero
// value is ready. A Record can be reused but not used concurrently.
//
// A value that does not match the schema, or a number that does not fit its
// field, is a mistake of the program: End then returns an error. Texts and
// arrays that are too long are cut.
type Record struct {
	dst   []byte
	ops   []op
	next  int // slot of the schema
	order order

	schema *Schema
	start  int // of the event in dst
	data   int // of the data in dst
	limit  int
	room   int // bytes of the limit that are left if all values are cut
	items  int // that decoders still take
	lost   int // for TruncatedField
	err    error

	lengths []int // scratch

	depth int // arrays that have begun
	loops [maxNesting + 1]loop
}

// loop is an array that has begun.
type loop struct {
	left int // elements to come, with the one that is being written
	keep int // elements of those that fit; the others are taken and dropped
	end  spot
}

// spot is where the last element that fit ended.
type spot struct{ dst, room, items, lost int }

// Begin starts an event. It will be appended to dst, which the caller must not
// use before [Record.End] returns it. The payload, from the header on, will have
// at most limit bytes; 0 means [DefaultLimit] and more than [MaxLimit] means
// that. The activity id and the related activity id are optional.
//
// A caller that passes the result to the kernel begins with 4 bytes in dst for
// the write index. They do not count.
func (r *Record) Begin(dst []byte, s *Schema, limit int, activity ...UUID) {
	if s == nil || s.slots == nil {
		r.close()
		r.dst, r.start, r.err = dst, len(dst), errNoSchema
		return
	}
	r.start, r.limit = len(dst), clampLimit(limit)
	r.schema, r.ops, r.order = s, s.ops, s.order
	r.next, r.depth, r.lost, r.err = 0, 0, 0, nil
	if len(activity) == 0 {
		dst = append(dst, s.prefix...)
	} else {
		dst = append(dst, s.prefix[:headerSize]...)
		dst = s.order.appendActivity(dst, activity)
		dst = append(dst, s.prefix[headerSize:]...)
	}
	r.dst, r.data = dst, len(dst)
	r.items = maxItems - s.items
	r.room = r.limit - s.floor - (r.data - r.start)
	if r.room < 0 {
		r.fail(fmt.Errorf("%w: schema %q needs %d bytes of %d", ErrTooLarge, s.name, r.limit-r.room, r.limit))
	}
}

// takes reports whether the next value is what the op says and the byte order this machine's.
func (r *Record) takes(o op) bool {
	return uint(r.next) < uint(len(r.ops)) && r.ops[r.next] == o
}

// settle returns the next slot that takes a value, past the beginnings and ends of arrays.
func (r *Record) settle() *slot {
	if r.schema == nil {
		return &slot{op: opDone}
	}
	for {
		s := &r.schema.slots[r.next]
		switch s.op {
		case opFixed:
			r.push(int(s.n), int(s.n))
		case opEnd:
			r.endElement(s)
		default:
			return s
		}
	}
}

// push begins an array at its first element.
func (r *Record) push(left, keep int) {
	r.loops[r.depth] = loop{left: left, keep: keep, end: r.spot()}
	r.depth++
	r.next++
}

func (r *Record) spot() spot {
	return spot{dst: len(r.dst), room: r.room, items: r.items, lost: r.lost}
}

func (r *Record) endElement(s *slot) {
	l := &r.loops[r.depth-1]
	if l.keep > 0 {
		l.keep--
		l.end = r.spot()
	} else {
		r.dst = r.dst[:l.end.dst]
		r.room, r.items, r.lost = l.end.room, l.end.items, l.end.lost
	}
	if l.left--; l.left > 0 {
		r.next = int(s.n)
	} else {
		r.depth--
		r.next++
	}
}

func (r *Record) mismatch(s *slot, format string, args ...any) {
	r.fail(s.mismatch(fmt.Sprintf(format, args...)))
}

// fail keeps the first error, and the shortest way from ending the event.
func (r *Record) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.ops = nil
}

// End returns dst with the event appended. On an error dst is as it was before
// Begin: [ErrInvalid] if the values do not match the schema, [ErrTooLarge] if
// the limit is too small for the schema.
func (r *Record) End() ([]byte, error) {
	if !r.takes(opDone) || r.lost > 0 || len(r.dst)-r.start > r.limit {
		if err := r.problem(); err != nil {
			dst := r.dst[:r.start]
			r.close()
			return dst, err
		}
		r.truncate()
	}
	dst := r.dst
	r.close()
	return dst, nil
}

// problem returns why there is no event.
func (r *Record) problem() error {
	switch {
	case r.err != nil:
		return r.err
	case r.schema == nil:
		return errNoBegin
	}
	if s := r.settle(); s.op != opDone {
		return invalidf("schema %q: no value for field %q", r.schema.name, s.name)
	}
	return nil
}

// close makes sure that nothing can be added.
func (r *Record) close() { r.dst, r.ops, r.schema, r.start = nil, nil, nil, 0 }

// truncate cuts what is too large and adds TruncatedField, unless nothing was.
func (r *Record) truncate() {
	if r.lost == 0 && len(r.dst)-r.start <= r.limit {
		return
	}
	meta := r.dst[r.data-(len(r.schema.prefix)-r.schema.fields) : r.data]
	f := fitting{meta: meta, data: r.dst[r.data:], order: r.order, lengths: r.lengths}
	f.fit(r.limit-truncatedSize-(r.data-r.start)+len(meta), false)
	r.dst, r.lengths = r.dst[:r.data+len(f.data)], f.lengths

	var buf [truncatedSize]byte
	mark := appendTruncatedMeta(buf[:0])
	r.dst = slices.Insert(r.dst, r.data, mark...)
	r.dst = r.order.append16(r.dst, uint16(min(r.lost+f.lost, math.MaxUint16)))
	size := r.dst[r.data-len(r.schema.prefix)+headerSize:]
	r.order.put16(size, r.order.get16(size)+uint16(len(mark)))
}
