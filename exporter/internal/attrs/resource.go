package attrs

import (
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/encode/text"
)

// Described is what events say of a resource. It does not change.
type Described struct {
	of       *resource.Resource
	Service  string               // service.name
	service  []byte               // the same as a text of a typed event
	Instance string               // service.instance.id
	Chosen   []attribute.KeyValue // the attributes that were asked for
	JSON     []byte               // these as an object; empty if there are none
	Dropped  int                  // values that are not in JSON because there are too many
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

// NewDescriber returns a Describer for payloads of at most limit bytes. It describes a resource by the attributes
// with these keys.
func NewDescriber(keys []attribute.Key, limit int) *Describer {
	return &Describer{keys: slices.Clone(keys), limit: limit}
}

// Describe returns what events say of a resource. The last description is kept: a provider has one resource, which
// never changes.
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
