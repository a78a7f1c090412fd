package sloghandler

import (
	"strings"

	"github.com/userevents/userevents-go/encode/attrjson"
)

// value is what a record has for a declared attribute.
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
		outer, ok := match(fields[n].key, w.items[i].Key, w.groups)
		v := &w.fields[n]
		if !ok || v.item >= 0 && v.outer < outer {
			continue
		}
		num, text, ok := convert(fields[n].typ, w.items[i].Value)
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

// match reports whether an attribute in these groups is the one that a declared key means, and how many
// of the groups the declared key does not name.
func match(declared, key string, groups []string) (outer int, ok bool) {
	rest, ok := strings.CutSuffix(declared, key)
	if !ok {
		return 0, false
	}
	outer = len(groups)
	for rest != "" {
		if outer == 0 {
			return 0, false
		}
		outer--
		if rest, ok = strings.CutSuffix(rest, "."); !ok {
			return 0, false
		}
		if rest, ok = strings.CutSuffix(rest, groups[outer]); !ok {
			return 0, false
		}
	}
	return outer, true
}
