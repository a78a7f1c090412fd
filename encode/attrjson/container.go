package attrjson

import "github.com/userevents/userevents-go/encode/text"

// cutMark is the last element of an array from which elements were dropped.
const cutMark = `"` + text.CutMark + `",`

type containerKind uint8

const (
	object containerKind = iota
	array
	group
)

// Container is an open object, array or group. It is given to [Writer.Close];
// containers are closed in reverse order.
type Container struct {
	kind   containerKind
	failed bool // not even the brackets fit
	mark   int  // where the member or element begins

	// what to restore in the Writer
	end   int
	array bool
	safe  int
	lost  int
}

// Object opens an object as the next value. It is written even if it gets no member.
// Members that do not fit are dropped one by one.
func (w *Writer) Object() Container { return w.openContainer(object, '{') }

// Array opens an array as the next value. If an element does not fit, it and all that
// follow are dropped, the string "..." takes their place, and the
// array counts as one value that was cut.
func (w *Writer) Array() Container { return w.openContainer(array, '[') }

// Group opens an object as the next value, which is left out together with its key if it
// gets no member. This is what log/slog demands of groups.
func (w *Writer) Group() Container { return w.openContainer(group, '{') }

func (w *Writer) openContainer(kind containerKind, bracket byte) Container {
	w.begin()
	c := Container{kind: kind, mark: w.mark, end: w.end, array: w.array, safe: w.safe, lost: w.lost}
	if w.held >= 0 {
		c.end, w.held = w.held, -1
	}
	w.array, w.safe = kind == array, -1
	if len(`{},`) > w.end-w.n {
		c.failed = true
		w.n = c.mark
		w.setEnd(-1)
		return c
	}
	w.wrote(append(w.b[:w.n], bracket))
	w.setEnd(w.end - len(`}`))
	return c
}

// Close closes c, which must be the container that was opened last.
func (w *Writer) Close(c Container) {
	full, safe := w.end < 0, w.safe
	w.setEnd(c.end)
	w.array, w.safe = c.array, c.safe
	switch {
	case c.failed, full && safe < 0:
		w.dropContainer(c)
		return
	case c.kind == group && w.last() == '{':
		w.n = c.mark
		return
	}
	buf := w.b[:w.n]
	if full {
		buf = append(buf[:safe], cutMark...)
		w.lost = c.lost + 1
	}
	bracket := byte('}')
	if c.kind == array {
		bracket = ']'
	}
	if last := len(buf) - 1; buf[last] == ',' {
		buf[last] = bracket
	} else {
		buf = append(buf, bracket)
	}
	w.wrote(append(buf, ','))
}

// dropContainer undoes a container that does not fit. The values inside have been counted, an
// array counts once, and an empty group is nothing that could be lost.
func (w *Writer) dropContainer(c Container) {
	w.n = c.mark
	switch c.kind {
	case array:
		w.lost = c.lost + 1
	case object:
		w.lost = max(w.lost, c.lost+1)
	}
	if w.array && w.lost > c.lost {
		w.setEnd(-1)
	}
}

// beginElement remembers how much of an array can be kept if a later element does not fit.
func (w *Writer) beginElement() {
	w.mark = w.n
	if len(cutMark) <= w.end-w.n {
		w.safe = w.n
	}
}
