package sloghandler

import (
	"log/slog"

	"github.com/userevents/userevents-go/encode/attrjson"
)

// maxDirect is how many fields a declared record may have whose values are found without a
// walk.
const maxDirect = 12

// finder finds the values of declared attributes in a record where nothing is left to
// decide: the attributes are of plain kinds, none is in a group of the call, and each field
// has one at most. It lives on the stack.
type finder struct {
	fields []field
	values [maxDirect]value
	taken  uint64 // which attributes of the record have a field, a bit each
	n      int    // attributes seen
	next   int    // field to try first: attributes mostly come in the order of the declaration
	lost   uint64 // attributes that cannot be converted
	fail   bool   // a walk has to decide
}

// find looks at all attributes. If it returns false, a walk has to do it.
func (f *finder) find(r *slog.Record) bool {
	for i := range f.fields {
		f.values[i].item = -1
	}
	r.Attrs(func(a slog.Attr) bool {
		f.offer(&a)
		return !f.fail
	})
	return !f.fail
}

func (f *finder) offer(a *slog.Attr) {
	i := f.n
	f.n++
	switch a.Value.Kind() {
	case slog.KindGroup, slog.KindLogValuer, slog.KindAny:
		f.fail = true
		return
	default:
	}
	at := f.field(a.Key)
	if at < 0 {
		return
	}
	v := &f.values[at]
	if v.item >= 0 || i >= 64 {
		f.fail = true
		return
	}
	num, text, ok := convert(f.fields[at].typ, a.Value)
	if !ok {
		f.lost++
		return
	}
	v.item, v.num, v.text = i, num, text
	f.taken |= 1 << i
	f.next = at + 1
}

// field returns the field that declares the key, or -1.
func (f *finder) field(key string) int {
	for at := f.next; at < len(f.fields); at++ {
		if f.fields[at].key == key {
			return at
		}
	}
	for at := range min(f.next, len(f.fields)) {
		if f.fields[at].key == key {
			return at
		}
	}
	return -1
}

// rest writes the attributes that have no field.
func (f *finder) rest(w *attrjson.Writer, r *slog.Record) {
	i := 0
	r.Attrs(func(a slog.Attr) bool {
		if f.taken&(1<<i) == 0 {
			w.Attr(a)
		}
		i++
		return true
	})
}
