package sloghandler

import (
	"log/slog"

	"github.com/userevents/userevents-go/internal/payload"
)

// stream writes the attributes of a record to the fields of its declaration as they come, where nothing is left to
// decide: no attribute is a group or a LogValuer, each field has one attribute at most, and texts come in the order of the
// declaration. It lives on the stack.
type stream struct {
	b     payload.Builder
	o     *declaredOutput
	next  *indexEntry // to try first: attributes mostly come in the order of the declaration
	bit   uint64      // of the next attribute
	taken uint64      // attributes that have a field
	set   uint64      // fields that have a value
	texts int         // the field behind the last text

	unconverted uint64
	unique      bool // duplicates are dropped
	stopped     bool // the record has to be settled
}

// write writes the attributes of the call. It returns false if the record has to be settled.
func (s *stream) write(r *slog.Record, more []slog.Attr) bool {
	s.next, s.bit = s.o.first, 1
	r.Attrs(func(a slog.Attr) bool {
		e := s.next
		if e == nil || e.name != a.Key {
			return s.other(a)
		}
		return s.attr(a.Value, e)
	})
	for i := 0; i < len(more) && !s.stopped; i++ {
		s.other(more[i])
	}
	if s.stopped {
		return false
	}
	if s.unconverted > 0 {
		s.o.event.Unconverted.Add(s.unconverted)
	}
	return true
}

// other writes an attribute to the field that it is for, if there is one.
func (s *stream) other(a slog.Attr) bool {
	if e := s.o.index.find(a.Key); e != nil {
		return s.attr(a.Value, e)
	}
	kind := a.Value.Kind()
	s.stopped = kind == slog.KindGroup || kind == slog.KindLogValuer || s.bit == 0
	s.bit <<= 1
	return !s.stopped
}

// attr writes the value of an attribute to a field.
func (s *stream) attr(v slog.Value, e *indexEntry) bool {
	kind, bit, own := v.Kind(), s.bit, uint64(1)<<(e.at&63)
	if !e.sole || bit == 0 || s.set&own != 0 || e.Text && e.at < s.texts || kind == slog.KindGroup || kind == slog.KindLogValuer {
		s.stopped = true
		return false
	}
	s.bit = bit << 1
	num, text, ok := e.value(v, kind)
	if !ok {
		s.unconverted++
		s.stopped = s.unique // it may be a duplicate
		return !s.stopped
	}
	e.Put(&s.b, num, text)
	if s.next = e.next; e.Text {
		s.texts = e.at + 1
	}
	s.taken |= bit
	s.set |= own
	return true
}
