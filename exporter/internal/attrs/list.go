package attrs

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
)

// Limits are the limits of a record's attributes. A negative limit means none.
type Limits struct {
	Count  int // number of attributes
	Length int // of texts in characters, of byte slices in bytes
	Depth  int // of lists and maps, see [Nested]
}

// Apply applies the limits to a value as the SDK does.
func (l *Limits) Apply(v *attribute.Value) {
	if t := v.Type(); t == attribute.SLICE || t == attribute.MAP {
		*v, _ = Nested(*v, l.Depth)
	}
	if l.Length >= 0 {
		*v, _ = Shortened(*v, l.Length)
	}
}

// LimitedDepth returns a list whose values are the results of [Nested]: the list itself if these are the same values.
func LimitedDepth(list []attribute.KeyValue, depth int) []attribute.KeyValue {
	own := false
	for i := range list {
		v, changed := Nested(list[i].Value, depth)
		if !changed {
			continue
		}
		if !own {
			list, own = slices.Clone(list), true
		}
		list[i].Value = v
	}
	return list
}

// List holds the attributes of a record that does not come from the SDK. It applies the SDK's rules: the last value of
// a key counts, at the position of the first one, within the limits. The zero value is empty.
type List struct {
	All     []attribute.KeyValue
	Dropped int // number of attributes beyond Limits.Count

	at map[attribute.Key]int // position of each key, if there are more than few
}

// few is the number of attributes up to which a linear search is faster than a map.
const few = 16

// Add adds an attribute, or replaces that of the same key.
func (l *List) Add(kv *attribute.KeyValue, limits *Limits) {
	at := l.find(kv.Key)
	switch {
	case at >= 0:
		l.All[at] = *kv
		limits.Apply(&l.All[at].Value)
	case limits.Count >= 0 && len(l.All) >= limits.Count:
		l.Dropped++
	default:
		l.All = append(l.All, *kv)
		limits.Apply(&l.All[len(l.All)-1].Value)
		if len(l.All) > few {
			l.index()
		}
	}
}

// AddAll adds attributes. Those without a key count as dropped.
func (l *List) AddAll(list []attribute.KeyValue, limits *Limits) {
	room := len(list)
	if limits.Count >= 0 {
		room = min(room, limits.Count-len(l.All))
	}
	l.All = slices.Grow(l.All, room)
	for i := range list {
		if !list[i].Valid() {
			l.Dropped++
			continue
		}
		l.Add(&list[i], limits)
	}
}

// Take is AddAll for an empty list, which keeps the memory of the attributes.
func (l *List) Take(list []attribute.KeyValue, limits *Limits) {
	if limits.allow(list) {
		l.All = list
		return
	}
	l.All = list[:0]
	l.AddAll(list, limits)
	clear(list[len(l.All):]) // removes references to dropped values
}

// allow reports whether the limits leave all attributes unchanged. It may return false if they do; most lists pass.
func (l *Limits) allow(list []attribute.KeyValue) bool {
	if l.Length >= 0 || l.Count >= 0 && len(list) > l.Count || len(list) > few {
		return false
	}
	for i := range list {
		kv := &list[i]
		if t := kv.Value.Type(); !kv.Valid() || t == attribute.SLICE || t == attribute.MAP {
			return false
		}
		for j := range i {
			if list[j].Key == kv.Key {
				return false
			}
		}
	}
	return true
}

// Reset empties the list, and drops its references to the memory of callers.
func (l *List) Reset() {
	if len(l.All) > few {
		clear(l.at)
	}
	clear(l.All)
	l.All, l.Dropped = l.All[:0], 0
}

// find returns the position of the attribute with a key, or -1.
func (l *List) find(key attribute.Key) int {
	if len(l.All) > few {
		if at, ok := l.at[key]; ok {
			return at
		}
		return -1
	}
	for i := range l.All {
		if l.All[i].Key == key {
			return i
		}
	}
	return -1
}

// index adds the last attribute to the map of positions, if there are more than few.
func (l *List) index() {
	if l.at == nil {
		l.at = make(map[attribute.Key]int)
	}
	first := len(l.All) - 1
	if first == few {
		first = 0 // the map is new: add all
	}
	for i := first; i < len(l.All); i++ {
		l.at[l.All[i].Key] = i
	}
}
