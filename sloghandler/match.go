package sloghandler

import (
	"log/slog"
	"slices"
	"strings"
)

// index finds the declared fields that an attribute may belong to.
type index []indexEntry

// indexEntry is a way to name a declared field by an attribute. A field whose key has dots has several: the parts before a dot may
// be names of groups around the attribute.
type indexEntry struct {
	name   string // key of the attribute
	groups string // innermost groups that it must be in, with dots between their names
	*field
	at   int         // number of the field
	sole bool        // no other entry has the name, and no group is needed
	next *indexEntry // of the field behind this one; nil behind the last
}

// newIndex returns an index of fields.
func newIndex(fields []field) index {
	var x index
	for i := range fields {
		for _, key := range fields[i].Keys() {
			x = append(x, indexEntry{name: key, field: &fields[i], at: i, sole: true})
			for dot := range key {
				if key[dot] == '.' {
					x = append(x, indexEntry{name: key[dot+1:], groups: key[:dot], field: &fields[i], at: i})
				}
			}
		}
	}
	// The most specific first: an attribute id in the group user is for user.id before it is for id.
	slices.SortStableFunc(x, func(a, b indexEntry) int { return len(b.groups) - len(a.groups) })
	for i := range x {
		e := &x[i]
		for j := range x {
			e.sole = e.sole && (i == j || e.name != x[j].name)
		}
		e.next = x.behind(e.at)
	}
	return x
}

// behind returns the first entry, without groups, of the field behind the one with that number; nil behind the last.
func (x index) behind(at int) (next *indexEntry) {
	for i := range x {
		if e := &x[i]; e.at > at && e.groups == "" && (next == nil || e.at < next.at) {
			next = e
		}
	}
	return next
}

// find returns the first entry with a name, or nil.
func (x index) find(name string) *indexEntry {
	for i := range x {
		if x[i].name == name {
			return &x[i]
		}
	}
	return nil
}

// has reports whether one of the attributes, which are in these groups, may be for a field.
func (x index) has(attrs []slog.Attr, groups []string) bool {
	return slices.ContainsFunc(attrs, func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindGroup {
			return x.has(a.Value.Group(), within(groups, a.Key))
		}
		return slices.ContainsFunc(x, func(e indexEntry) bool {
			_, ok := inGroups(e.groups, groups)
			return ok && e.name == a.Key
		})
	})
}

// within returns the groups that are open in a group. One without a name is none.
func within(groups []string, name string) []string {
	if name == "" {
		return groups
	}
	return append(slices.Clip(groups), name)
}

// inGroups reports whether the innermost of the groups are those of a declared key, and how many there are around them.
func inGroups(declared string, groups []string) (outer int, ok bool) {
	outer = len(groups)
	for declared != "" {
		if outer--; outer < 0 {
			return 0, false
		}
		rest, ok := strings.CutSuffix(declared, groups[outer])
		if rest != "" {
			rest, ok = strings.CutSuffix(rest, ".")
			ok = ok && rest != ""
		}
		if !ok {
			return 0, false
		}
		declared = rest
	}
	return outer, true
}

// value is what a declared field of a record holds.
type value struct {
	num   uint64
	text  string
	leaf  int32 // number of the attribute behind it, from 1 on; 0 if there is none
	outer int32 // groups around that attribute which the key does not name
}

// matcher gives the attributes of a record, which are settled, to the fields of its declaration.
type matcher struct {
	*settled
	o           *declaredOutput
	leaf        int32 // attributes so far
	unconverted uint64
}

// match finds the values of a declaration's fields, and takes the attributes that they are from out of the lists. With whole,
// all attributes are looked at, and else those of the call, which are the fields of a struct.
func (s *settled) match(o *declaredOutput, whole bool) {
	s.values = slices.Grow(s.values[:0], len(o.fields))[:len(o.fields)]
	m := matcher{settled: s, o: o}
	s.groups = s.groups[:0]
	if whole {
		m.list(s.context)
		s.groups = append(s.groups, s.bound.groups...)
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

// list gives attributes that are in m.groups.
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
