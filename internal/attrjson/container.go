package attrjson

import "math"

type containerKind uint8

const (
	object containerKind = iota
	array
	group
)

// Container is an open object, array or group. It is given to [Writer.Close];
// containers are closed in reverse order.
type Container struct {
	kind containerKind
	mark int // where the member begins
	most int // where an array is so long that the last elements cannot stay
}

// enough is how many times as long as what may be left of it an array gets: its texts are cut before its elements are
// dropped.
const enough = 16

// Object opens an object as the next value. It is written even if it gets no member.
func (w *Writer) Object() Container { return w.openContainer(object, '{') }

// Array opens an array as the next value.
func (w *Writer) Array() Container { return w.openContainer(array, '[') }

// Group opens an object as the next value, which is omitted together with its key if it
// gets no member. This is what log/slog demands of groups.
func (w *Writer) Group() Container { return w.openContainer(group, '{') }

func (w *Writer) openContainer(kind containerKind, bracket byte) Container {
	c := Container{kind: kind, mark: w.mark, most: math.MaxInt}
	if kind == array && w.limit != NoLimit {
		c.most = w.n + enough*(w.end()-w.n)
	}
	w.wrote(append(w.b[:w.n], bracket))
	return c
}

// Full reports whether an array is so long that further elements are going to be cut: there is no use in writing
// them.
func (w *Writer) Full(c Container) bool { return w.n > c.most }

// Close closes c, which must be the container that was opened last.
func (w *Writer) Close(c Container) {
	if c.kind == group && w.last() == '{' {
		w.n = c.mark
		return
	}
	bracket := byte('}')
	if c.kind == array {
		bracket = ']'
		if w.Full(c) {
			w.capped++
		}
	}
	buf := w.b[:w.n]
	if last := len(buf) - 1; buf[last] == ',' {
		buf[last] = bracket
	} else {
		buf = append(buf, bracket)
	}
	w.wrote(append(buf, ','))
}
