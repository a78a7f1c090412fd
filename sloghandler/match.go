package sloghandler

import (
	"log/slog"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/payload"
)

// finder finds the values of declared attributes in a record where nothing is left to
// decide: no attribute is a group or a LogValuer, each field has one attribute at most, and texts come in the order of the
// declaration. It writes values as it finds them, and lives on the stack.
type finder struct {
	o           *declaredOutput
	b           payload.Builder
	bit         uint64 // of the next attribute in taken; 0 behind the 64th
	taken       uint64 // which attributes of the record have a field
	set         uint64 // which fields have a value, a bit each
	next        int    // field to try first: attributes mostly come in the order of the declaration
	text        int    // the field behind the last text
	unconverted uint64
}

// find looks at all attributes. It returns false if the record needs a walk.
func (f *finder) find(r *slog.Record, more []slog.Attr) bool {
	f.bit = 1
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
	bit := f.bit
	f.bit <<= 1
	kind := a.Value.Kind()
	fields, at := f.o.fields, f.next
	if at >= len(fields) || fields[at].alias != a.Key && fields[at].key != a.Key {
		if at = f.o.field(a.Key); at < 0 {
			return kind != slog.KindGroup && kind != slog.KindLogValuer
		}
	}
	fd := &fields[at]
	own := uint64(1) << (at & 63)
	if bit == 0 || f.set&own != 0 || fd.text && at < f.text {
		return false
	}
	if kind != fd.kind || !fd.putExact(&f.b, &a.Value) {
		if kind == slog.KindGroup || kind == slog.KindLogValuer {
			return false
		}
		num, text, ok := fd.convert(a.Value)
		if !ok {
			f.unconverted++
			return true
		}
		fd.put(&f.b, num, text)
	}
	if f.next = at + 1; fd.text {
		f.text = f.next
	}
	f.taken |= bit
	f.set |= own
	return true
}

// rest writes the attributes that have no field.
func (f *finder) rest(w *attrjson.Writer, r *slog.Record, more []slog.Attr) {
	if f.bit != 0 && f.taken == f.bit-1 {
		return
	}
	bit := uint64(1)
	r.Attrs(func(a slog.Attr) bool {
		if f.taken&bit == 0 {
			w.Attr(a)
		}
		bit <<= 1
		return true
	})
	for j := range more {
		if f.taken&bit == 0 {
			w.Attr(more[j])
		}
		bit <<= 1
	}
}

// value is the value of a declared attribute in a walked record.
type value struct {
	item  int // the index of its item, or -1
	outer int // groups around that item which the key does not name
	num   uint64
	text  string
}

// capture finds the values of declared attributes and takes them out of the walk. It returns the number of attributes
// whose values cannot be converted: these stay in the walk.
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
			// The one before stays an attribute, unless the handler keeps the last of duplicates only.
			w.items[v.item].gone = d == attrjson.KeepLast && w.items[v.item].parent == w.items[i].parent
		}
		*v = value{item: i, outer: outer, num: num, text: text}
		w.items[i].gone = true
		return unconverted
	}
	return unconverted
}

// release makes all attributes part of the walk again.
func (w *walk) release() {
	for i := range w.items {
		w.items[i].gone = false
	}
}
