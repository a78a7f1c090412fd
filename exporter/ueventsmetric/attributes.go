package ueventsmetric

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

// Names that OpenTelemetry gives to what has no place of its own in a format.
const (
	keyZeroThreshold   = "otel.zero_threshold"
	keyScopeVersion    = "otel.scope.version"
	keyScopeSchemaURL  = "otel.scope.schema_url"
	keyScopeAttributes = "otel.scope.attributes"
)

// filtered writes the attributes that an exemplar has beside those of its point.
func (e *encoder) filtered(list []attribute.KeyValue) {
	if len(list) == 0 {
		return
	}
	w := attrjson.Begin(e.buf, e.room()/2)
	for _, kv := range list {
		attrs.WriteJSON(&w, kv)
	}
	e.endObject(filteredAttributes, &w)
}

// attributes writes those of a point, and of a scope what the event has no field for. It leaves
// room for lists of so many bytes, or half of what there is.
func (e *encoder) attributes(scope *instrumentation.Scope, set *attribute.Set, lists int) {
	room := e.room()
	w := attrjson.Begin(e.buf, room-min(lists, room/2)+len("{}"))
	for i := set.Iter(); i.Next(); {
		attrs.WriteJSON(&w, i.Attribute())
	}
	if e.zeroThreshold != 0 {
		w.Key(keyZeroThreshold)
		w.Float(e.zeroThreshold)
	}
	if scope.Version != "" && e.o.at[scopeVersion] == absent {
		w.Key(keyScopeVersion)
		w.String(scope.Version)
	}
	if scope.SchemaURL != "" {
		w.Key(keyScopeSchemaURL)
		w.String(scope.SchemaURL)
	}
	if scope.Attributes.Len() > 0 {
		w.Key(keyScopeAttributes)
		object := w.Object()
		for i := scope.Attributes.Iter(); i.Next(); {
			attrs.WriteJSON(&w, i.Attribute())
		}
		w.Close(object)
	}
	e.endObject(attributes, &w)
}
