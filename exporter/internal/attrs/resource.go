package attrs

import (
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/text"
)

// Described is the description of a resource in events. It is immutable.
type Described struct {
	of       *resource.Resource
	Service  string               // service.name
	service  []byte               // service.name as a text of a typed event
	Instance string               // service.instance.id
	Chosen   []attribute.KeyValue // the selected attributes
	JSON     []byte               // these as an object; empty if there are none
	Dropped  int                  // number of values dropped from JSON, because there are too many
}

// Describer describes resources for events. Methods may be called concurrently.
type Describer struct {
	keys  []attribute.Key
	limit int
	last  atomic.Pointer[Described]
}

const (
	keyServiceName     = attribute.Key("service.name")
	keyServiceInstance = attribute.Key("service.instance.id")
)

// NewDescriber returns a Describer that selects the attributes with these keys, for payloads of at most limit bytes.
func NewDescriber(keys []attribute.Key, limit int) *Describer {
	return &Describer{keys: slices.Clone(keys), limit: limit}
}

// Describe returns the description of a resource. It caches the last one: a provider has one resource, which never
// changes.
func (d *Describer) Describe(res *resource.Resource) *Described {
	if last := d.last.Load(); last != nil && last.of == res {
		return last
	}
	described := d.describe(res)
	d.last.Store(described)
	return described
}

func (d *Describer) describe(res *resource.Resource) *Described {
	out := &Described{of: res}
	set := res.Set()
	if v, ok := set.Value(keyServiceName); ok {
		out.Service = Text(v)
		out.service, _ = text.Append(nil, out.Service, d.limit)
	}
	if v, ok := set.Value(keyServiceInstance); ok {
		out.Instance = Text(v)
	}
	w := attrjson.Begin(nil, d.limit)
	for _, key := range d.keys {
		if v, ok := set.Value(key); ok {
			kv := attribute.KeyValue{Key: key, Value: v}
			out.Chosen = append(out.Chosen, kv)
			WriteJSON(&w, &kv)
		}
	}
	if len(out.Chosen) > 0 {
		out.JSON, out.Dropped = w.End(attrjson.KeepAll)
	}
	return out
}
