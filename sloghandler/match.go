package sloghandler

import (
	"log/slog"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/internal/payload"
)

// finder finds the values of declared attributes in a record where nothing is left to
// decide, and writes them as it finds them: no attribute is a group or a LogValuer, each field
// has one attribute at most, and texts come in the order of the declaration. It lives on the stack.
type finder struct {
	o           *declaredOutput
	b           payload.Builder
	taken       uint64 // which attributes of the record have a field, a bit each
	set         uint64 // which fields have a value
	n           int    // attributes seen
	next        int    // field to try first: attributes mostly come in the order of the declaration
	text        int    // the field behind the last text
	unconverted uint64
}

// find looks at all attributes. If it returns false, a walk has to do it.
func (f *finder) find(r *slog.Record, more []slog.Attr) bool {
	ok := len(f.o.fields) <= 64
	r.Attrs(func(a slog.Attr) bool {
		ok = ok && f.offer(&a)
		return ok
	})
	for i := 0; i < len(more) && ok; i++ {
		ok = f.offer(&more[i])
	}
	return ok
}

// offer gives an attribute to the field that it is for, if there is one.
func (f *finder) offer(a *slog.Attr) bool {
	i := f.n
	f.n++
	kind := a.Value.Kind()
	if kind == slog.KindGroup || kind == slog.KindLogValuer {
		return false
	}
	at := f.field(a.Key)
	if at < 0 {
		return true
	}
	if i >= 64 || f.set&(1<<at) != 0 {
		return false
	}
	fd := &f.o.fields[at]
	if fd.text {
		if at < f.text {
			return false
		}
		f.text = at + 1
	}
	if kind != fd.kind || !fd.putExact(&f.b, a.Value) {
		num, text, ok := fd.convert(a.Value)
		if !ok {
			f.unconverted++
			return true
		}
		fd.put(&f.b, num, text)
	}
	f.taken |= 1 << i
	f.set |= 1 << at
	f.next = at + 1
	return true
}

// field returns the field that declares the key, or -1.
func (f *finder) field(key string) int {
	fields := f.o.fields
	for at := f.next; at < len(fields); at++ {
		if fields[at].key == key || fields[at].alias == key && key != "" {
			return at
		}
	}
	for at := range min(f.next, len(fields)) {
		if fields[at].key == key || fields[at].alias == key && key != "" {
			return at
		}
	}
	return -1
}

// rest writes the attributes that have no field.
func (f *finder) rest(w *attrjson.Writer, r *slog.Record, more []slog.Attr) {
	if f.n < 64 && f.taken == 1<<f.n-1 {
		return
	}
	i := 0
	r.Attrs(func(a slog.Attr) bool {
		if i >= 64 || f.taken&(1<<i) == 0 {
			w.Attr(a)
		}
		i++
		return true
	})
	for j := range more {
		if i >= 64 || f.taken&(1<<i) == 0 {
			w.Attr(more[j])
		}
		i++
	}
}

// value is what a walked record has for a declared attribute.
type value struct {
	item  int // it comes from, or -1
	outer int // groups around that item which the key does not name
	num   uint64
	text  string
}

// capture finds the values of declared attributes and takes them out of the walk. It returns how many attributes stay
// where they are, since their values cannot be converted.
func (w *walk) capture(fields []field, d attrjson.Duplicates) (unconverted uint64) {
	w.fields = w.fields[:0]
	for range fields {
		w.fields = append(w.fields, value{item: -1})
	}
	w.groups = w.groups[:0]
	for i := range w.items {
		switch it := &w.items[i]; it.step {
		case open:
			w.groups = append(w.groups, it.Key)
		case closing:
			w.groups = w.groups[:len(w.groups)-1]
		default:
			unconverted += w.offer(i, fields, d)
		}
	}
	return unconverted
}

// offer gives an attribute to the field that it is for, if there is one.
func (w *walk) offer(i int, fields []field, d attrjson.Duplicates) (unconverted uint64) {
	for n := range fields {
		outer, ok := fields[n].match(w.items[i].Key, w.groups)
		v := &w.fields[n]
		if !ok || v.item >= 0 && v.outer < outer {
			continue
		}
		num, text, ok := fields[n].convert(w.items[i].Value)
		if !ok {
			unconverted++
			continue
		}
		if v.item >= 0 {
			// The one before stays an attribute, unless it is to be a duplicate that goes.
			w.items[v.item].gone = d == attrjson.KeepLast && w.items[v.item].parent == w.items[i].parent
		}
		*v = value{item: i, outer: outer, num: num, text: text}
		w.items[i].gone = true
		return unconverted
	}
	return unconverted
}

// release gives all attributes back to the walk.
func (w *walk) release() {
	for i := range w.items {
		w.items[i].gone = false
	}
}
