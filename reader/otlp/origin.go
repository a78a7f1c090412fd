package otlp

import (
	"bytes"
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/userevents/userevents-go/reader"
)

// Limits for the cache of resources, and for that of scopes.
const (
	maxOrigins     = 4096
	maxOriginBytes = 4 << 20 // of their data
)

// resource is the origin of records: a process and its own description. Records of one resource share it.
type resource struct {
	attributes pcommon.Map
	size       int // approximate bytes in JSON
}

// scope is an instrumentation scope.
type scope struct {
	scope     pcommon.InstrumentationScope
	schemaURL string
	size      int
}

// origin is the resource and the scope of a record.
type origin struct {
	resource *resource
	scope    *scope
}

// origins caches resources and scopes by the records' data.
type origins struct {
	resources map[string]*resource
	scopes    map[string]*scope

	resourceBytes, scopeBytes int

	last         origin
	key, lastKey []byte // of the event and of last
}

func (o *origins) reset() {
	o.resources, o.scopes = map[string]*resource{}, map[string]*scope{}
}

// originOf returns the origin of an event. Its texts do not keep those of records in memory.
func (c *Converter) originOf(ev *reader.Event) origin {
	o := &c.origins
	key := o.key[:0]
	if !c.o.OmitPID {
		key = binary.LittleEndian.AppendUint32(key, uint32(ev.PID))
	}
	key = append(key, c.keyOf(ev.Process)[:]...)
	key = appendTexts(key, ev.ServiceName)
	key = reader.AppendJSON(key, ev.Resource)
	scope := len(key)
	key = appendTexts(key, ev.ScopeName, ev.ScopeVersion, ev.ScopeSchemaURL)
	key = reader.AppendJSON(key, ev.ScopeAttributes)
	o.key = key
	if bytes.Equal(key, o.lastKey) { // as mostly
		return o.last
	}
	c.texts.alone = true
	o.last = origin{c.resourceOf(ev, key[:scope]), c.scopeOf(ev, key[scope:])}
	c.texts.alone = false
	o.key, o.lastKey = o.lastKey, key
	return o.last
}

// resourceOf returns the resource of an event, whose data is key.
func (c *Converter) resourceOf(ev *reader.Event, key []byte) *resource {
	o := &c.origins
	if r := o.resources[string(key)]; r != nil {
		return r
	}
	r := &resource{attributes: pcommon.NewMap()}
	r.size = c.putAll(r.attributes, ev.Resource, 0)
	if ev.ServiceName != "" {
		r.size += c.set(r.attributes.PutEmpty(keyServiceName), reader.StringValue(ev.ServiceName), 0) + memberSize
	}
	r.size += c.identify(r.attributes, ev)
	if o.resourceBytes += len(key) + r.size; len(o.resources) == maxOrigins || o.resourceBytes > maxOriginBytes {
		clear(o.resources)
		o.resourceBytes = len(key) + r.size
	}
	o.resources[string(key)] = r
	return r
}

// scopeOf returns the scope of an event, whose data is key.
func (c *Converter) scopeOf(ev *reader.Event, key []byte) *scope {
	o := &c.origins
	if s := o.scopes[string(key)]; s != nil {
		return s
	}
	s := &scope{scope: pcommon.NewInstrumentationScope(), schemaURL: c.texts.keep(ev.ScopeSchemaURL)}
	s.scope.SetName(c.texts.keep(ev.ScopeName))
	s.scope.SetVersion(c.texts.keep(ev.ScopeVersion))
	s.size = jsonSize(ev.ScopeName) + jsonSize(ev.ScopeVersion) + jsonSize(ev.ScopeSchemaURL) + c.putAll(s.scope.Attributes(), ev.ScopeAttributes, 0)
	if o.scopeBytes += len(key); len(o.scopes) == maxOrigins || o.scopeBytes > maxOriginBytes {
		clear(o.scopes)
		o.scopeBytes = len(key)
	}
	o.scopes[string(key)] = s
	return s
}

// appendTexts appends texts unambiguously: different texts give different bytes.
func appendTexts(dst []byte, texts ...string) []byte {
	for _, s := range texts {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	return dst
}
