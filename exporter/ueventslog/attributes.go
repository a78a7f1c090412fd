package ueventslog

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

// fewAttributes is a number of attributes up to which comparing a key with all others takes less than a map.
const fewAttributes = 16

// attributeList is the attributes that a [LoggerProvider] records, which are those that the SDK would record: the last
// value of each key, where the first one was, within the limits. Lists are pooled.
type attributeList struct {
	list    []attribute.KeyValue
	at      map[attribute.Key]int // where each key is, if there are more than a few
	dropped int                   // attributes beyond the limit of their number
}

var attributeLists = sync.Pool{New: func() any { return new(attributeList) }}

// free returns the list to the pool, without what belongs to the caller.
func (l *attributeList) free() {
	if cap(l.list) > maxKept {
		return
	}
	if len(l.list) > fewAttributes {
		clear(l.at)
	}
	clear(l.list)
	l.list, l.dropped = l.list[:0], 0
	attributeLists.Put(l)
}

// collect takes the attributes of a record, and those that describe its error.
func (l *attributeList) collect(r *log.Record, limits *limits) {
	err := r.Err()
	if err == nil {
		r.WalkAttributes(func(kv attribute.KeyValue) bool {
			l.add(&kv, limits)
			return true
		})
		return
	}
	hasType, hasMessage := false, false
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		hasType = hasType || kv.Key == keyExceptionType
		hasMessage = hasMessage || kv.Key == keyExceptionMessage
		l.add(&kv, limits)
		return true
	})
	l.addException(err, !hasType, !hasMessage, limits)
}

// add adds an attribute, or replaces that of the same key. Those without a key are ignored.
func (l *attributeList) add(kv *attribute.KeyValue, limits *limits) {
	if len(kv.Key) == 0 {
		return
	}
	at := l.find(kv.Key)
	if at < 0 {
		if l.full(limits) {
			l.dropped++
			return
		}
		l.addNew(kv, limits)
		return
	}
	l.list[at] = *kv
	limits.apply(&l.list[at].Value)
}

// addNew adds an attribute whose key no other one has.
func (l *attributeList) addNew(kv *attribute.KeyValue, limits *limits) {
	l.list = append(l.list, *kv)
	limits.apply(&l.list[len(l.list)-1].Value)
	if len(l.list) > fewAttributes {
		l.index()
	}
}

// full reports whether there may be no more attributes.
func (l *attributeList) full(limits *limits) bool {
	return limits.count >= 0 && len(l.list) >= limits.count
}

// apply makes of a value what the SDK makes of it.
func (limits *limits) apply(v *attribute.Value) {
	if t := v.Type(); t == attribute.SLICE || t == attribute.MAP {
		*v, _ = attrs.Nested(*v, attrs.DepthLimit)
	}
	if limits.length >= 0 {
		*v, _ = attrs.Shortened(*v, limits.length)
	}
}

// find returns where the attribute with a key is, or -1.
func (l *attributeList) find(key attribute.Key) int {
	if len(l.list) > fewAttributes {
		if at, ok := l.at[key]; ok {
			return at
		}
		return -1
	}
	for i := range l.list {
		if l.list[i].Key == key {
			return i
		}
	}
	return -1
}

// index makes the last attribute known to find, when there are more than a few.
func (l *attributeList) index() {
	if l.at == nil {
		l.at = make(map[attribute.Key]int)
	}
	first := len(l.list) - 1
	if first == fewAttributes {
		first = 0 // the others are not known, either
	}
	for i := first; i < len(l.list); i++ {
		l.at[l.list[i].Key] = i
	}
}
