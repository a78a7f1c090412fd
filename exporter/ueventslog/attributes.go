package ueventslog

import (
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

// fewAttributes is up to how many attributes of a record are searched for duplicates of keys one by one.
const fewAttributes = 16

// isPlain reports whether a record has exactly the attributes that the SDK would make of it, so that they can be written
// from where they are. It may return false if it has.
func isPlain(r *log.Record, limits *attrs.Limits) bool {
	n := r.AttributesLen()
	if n > fewAttributes || limits.Length >= 0 || limits.Count >= 0 && n > limits.Count || r.Err() != nil {
		return false
	}
	var seen, again uint64 // a bit for each key; different keys seldom have the same one
	plain := true
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		n := uint(len(kv.Key))
		if t := kv.Value.Type(); n == 0 || t == attribute.SLICE || t == attribute.MAP {
			plain = false
			return false
		}
		bit := uint64(1) << ((n + 3*uint(kv.Key[0]) + 5*uint(kv.Key[n-1])) % 64)
		again |= seen & bit
		seen |= bit
		return true
	})
	return plain && (again == 0 || areDistinct(r))
}

// areDistinct reports whether all attributes of a record with few have different keys.
func areDistinct(r *log.Record) bool {
	keys, distinct := make([]attribute.Key, 0, fewAttributes), true
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		distinct = distinct && !slices.Contains(keys, kv.Key)
		keys = append(keys, kv.Key)
		return distinct
	})
	return distinct
}

// lists are the memory of attributes that are not written from where they are.
var lists = sync.Pool{New: func() any { return new(attrs.List) }}

// maxKept is the capacity of the largest list that is pooled: the few larger ones are left to the garbage collector.
const maxKept = 1000

// free returns a list to the pool, without what belongs to the caller.
func free(l *attrs.List) {
	if cap(l.All) <= maxKept {
		l.Reset()
		lists.Put(l)
	}
}

// collect takes the attributes of a record, and those that describe its error. Those without a key are ignored.
func collect(l *attrs.List, r *log.Record, limits *attrs.Limits) {
	hasType, hasMessage := false, false
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		hasType = hasType || kv.Key == keyExceptionType
		hasMessage = hasMessage || kv.Key == keyExceptionMessage
		if kv.Key != "" {
			l.Add(&kv, limits)
		}
		return true
	})
	if err := r.Err(); err != nil {
		addException(l, err, !hasType, !hasMessage, limits)
	}
}
