package ueventslog

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

// attributeList is the attributes that a [LoggerProvider] records. Lists are pooled.
type attributeList struct{ attrs.List }

var attributeLists = sync.Pool{New: func() any { return new(attributeList) }}

// free returns the list to the pool, without what belongs to the caller.
func (l *attributeList) free() {
	if cap(l.All) > maxKept {
		return
	}
	l.Reset()
	attributeLists.Put(l)
}

// collect takes the attributes of a record, and those that describe its error.
func (l *attributeList) collect(r *log.Record, limits *attrs.Limits) {
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
func (l *attributeList) add(kv *attribute.KeyValue, limits *attrs.Limits) {
	if len(kv.Key) > 0 {
		l.Add(kv, limits)
	}
}
