package sloghandler

import (
	"log/slog"
	"slices"

	"github.com/userevents/userevents-go/internal/adapter/payload"
)

type value struct {
	num   uint64
	text  string
	leaf  int32 // number of the attribute behind it, from 1 on; 0 if there is none
	outer int32 // groups around that attribute which the key does not name
}

// matcher gives the attributes of a record, which are resolved, to the fields of its declaration.
type matcher struct {
	*resolved
	o           *declaredOutput
	leaf        int32 // attributes so far
	unconverted uint64
}

// match finds the values of a declaration's fields, and takes the attributes that they are from out of the lists. With whole,
// all attributes are looked at, and else those of the call, which are the fields of a struct.
func (s *resolved) match(o *declaredOutput, whole bool) {
	s.values = slices.Grow(s.values[:0], len(o.fields))[:len(o.fields)]
	m := matcher{resolved: s, o: o}
	s.groups = s.groups[:0]
	if whole {
		m.list(s.context)
		s.groups = append(s.groups, s.preformatted.groups...)
	}
	m.list(s.more)
	for i := range s.values {
		if leaf := s.values[i].leaf; leaf > 0 {
			s.take(leaf)
		}
	}
	if m.unconverted > 0 {
		o.event.Unconverted.Add(m.unconverted)
	}
}

func (m *matcher) list(attrs []slog.Attr) {
	for i := range attrs {
		a := &attrs[i]
		kind := a.Value.Kind()
		if kind != slog.KindGroup {
			m.leaf++
			m.leaves = append(m.leaves, a)
			m.offer(a, kind)
			continue
		}
		open := len(m.groups)
		if a.Key != "" {
			m.groups = append(m.groups, a.Key)
		}
		m.list(a.Value.Group())
		m.groups = m.groups[:open]
	}
}

// offer gives an attribute to the first field that it is for and that can hold it.
func (m *matcher) offer(a *slog.Attr, kind slog.Kind) {
	wrong := false
	for i := range m.o.index {
		e := &m.o.index[i]
		if e.name != a.Key {
			continue
		}
		outer, ok := inGroups(e.groups, m.groups)
		if !ok {
			continue
		}
		set, ok := m.set(e, a, kind, int32(outer))
		if set {
			return
		}
		if wrong = wrong || !ok; e.sole {
			break
		}
	}
	if wrong {
		m.unconverted++
	}
}

// set makes an attribute the value of a field, if the field can hold it. Of several attributes, the one in the fewest other groups
// wins, and then the last one. The others stay attributes.
func (m *matcher) set(e *indexEntry, a *slog.Attr, kind slog.Kind, outer int32) (set, ok bool) {
	v := &m.values[e.at]
	if v.leaf != 0 && v.outer < outer {
		return false, true
	}
	num, text, ok := e.value(a.Value, kind)
	if !ok {
		return false, false
	}
	*v = value{num: num, text: text, leaf: m.leaf, outer: outer}
	return true, true
}

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
	stopped     bool // the record has to be resolved
}

// write writes the attributes of the call. It returns false if the record has to be resolved.
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
