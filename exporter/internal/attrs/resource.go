package ueventslog

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

// described is what records say of a resource.
type described struct {
	of       *resource.Resource
	service  string               // service.name
	instance string               // service.instance.id
	chosen   []attribute.KeyValue // by WithResourceAttributes
	json     []byte               // these as an object; empty if there are none
	lost     int                  // of these, for lack of room
}

// resourceShare is the part of the limit that the object takes at most.
const resourceShare = 8

const (
	keyServiceName     = attribute.Key("service.name")
	keyServiceInstance = attribute.Key("service.instance.id")
)

// describe returns what records say of a resource. It is remembered: a provider has one, which never
// changes.
func (s *sink) describe(res *resource.Resource) *described {
	if d := s.described.Load(); d != nil && d.of == res {
		return d
	}
	d := s.newDescribed(res)
	s.described.Store(d)
	return d
}

func (s *sink) newDescribed(res *resource.Resource) *described {
	d := &described{of: res}
	set := res.Set()
	if v, ok := set.Value(keyServiceName); ok {
		d.service = attrs.Text(v)
	}
	if v, ok := set.Value(keyServiceInstance); ok {
		d.instance = attrs.Text(v)
	}
	w := attrjson.Begin(nil, s.limit/resourceShare)
	for _, key := range s.resourceKeys {
		if v, ok := set.Value(key); ok {
			kv := attribute.KeyValue{Key: key, Value: v}
			d.chosen = append(d.chosen, kv)
			attrs.WriteJSON(&w, kv)
		}
	}
	if len(d.chosen) > 0 {
		d.json, d.lost = w.End(attrjson.KeepAll)
	}
	return d
}
