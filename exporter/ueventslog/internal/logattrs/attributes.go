// Package logattrs reads the attributes of log records, and makes of them what the SDK makes of them.
package logattrs

import (
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

// Attributes are those of a record. They are where the record has them, as far as possible: a copy takes longer than a second
// walk.
type Attributes struct {
	api  *log.Record
	sdk  *sdklog.Record
	list *attrs.List
}

// OfSDK returns the attributes of a record of the SDK.
func OfSDK(r *sdklog.Record) Attributes { return Attributes{sdk: r} }

// Of returns the attributes that the SDK would give a record, those that describe its error included. Call [Free] with the list, which
// may be nil, when they are not used any more.
func Of(r *log.Record, limits *attrs.Limits) (a Attributes, list *attrs.List) {
	if isPlain(r, limits) {
		return Attributes{api: r}, nil
	}
	list = lists.Get().(*attrs.List)
	collect(list, r, limits)
	return Attributes{list: list}, list
}

// Walk calls f for each attribute until it returns false.
func (a Attributes) Walk(f func(attribute.KeyValue) bool) {
	switch {
	case a.api != nil:
		a.api.WalkAttributes(f)
	case a.sdk != nil:
		a.sdk.WalkAttributes(f)
	case a.list != nil:
		for i := 0; i < len(a.list.All) && f(a.list.All[i]); i++ {
		}
	}
}

// Dropped returns how many attributes are beyond the limit of their number.
func (a Attributes) Dropped() int {
	switch {
	case a.sdk != nil:
		return a.sdk.DroppedAttributes()
	case a.list != nil:
		return a.list.Dropped
	default:
		return 0
	}
}

// few is up to how many attributes are searched for duplicates of keys one by one.
const few = 16

// isPlain reports whether a record has exactly the attributes that the SDK would give it. It may return false if it has.
func isPlain(r *log.Record, limits *attrs.Limits) bool {
	n := r.AttributesLen()
	if n > few || limits.Length >= 0 || limits.Count >= 0 && n > limits.Count || r.Err() != nil {
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
	keys, distinct := make([]attribute.Key, 0, few), true
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		distinct = distinct && !slices.Contains(keys, kv.Key)
		keys = append(keys, kv.Key)
		return distinct
	})
	return distinct
}

var lists = sync.Pool{New: func() any { return new(attrs.List) }}

// maxKept is the capacity of the largest list that is pooled: the few larger ones are left to the garbage collector.
const maxKept = 1000

// Free returns the list to the pool, without what belongs to the caller. It is no method: the record would escape.
func Free(list *attrs.List) {
	if list != nil && cap(list.All) <= maxKept {
		list.Reset()
		lists.Put(list)
	}
}

// collect adds the attributes of a record to a list, and those that describe its error. Those without a key are ignored.
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
