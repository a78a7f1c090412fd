package otlp

import (
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/userevents/userevents-go/reader"
)

// Limits for the cache of resources, and for that of scopes.
const (
	maxOrigins     = 4096
	maxOriginBytes = 4 << 20 // of the records' resource or scope data
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
	key                       []byte
}

func (o *origins) reset() {
	o.resources, o.scopes = map[string]*resource{}, map[string]*scope{}
}

// originOf returns the origin of an event. Its texts do not keep those of records in memory.
func (c *Converter) originOf(ev *reader.Event) origin {
	c.texts.alone = true
	o := origin{c.resourceOf(ev), c.scopeOf(ev)}
	c.texts.alone = false
	return o
}

func (c *Converter) resourceOf(ev *reader.Event) *resource {
	o := &c.origins
	pid, program, container := c.processOf(ev)
	o.key = binary.LittleEndian.AppendUint32(o.key[:0], uint32(pid))
	o.key = appendTexts(o.key, program, container, ev.ServiceName)
	o.key = reader.AppendJSON(o.key, ev.Resource)
	if r := o.resources[string(o.key)]; r != nil {
		return r
	}
	r := &resource{attributes: pcommon.NewMap()}
	r.size = c.putAll(r.attributes, ev.Resource, 0)
	if ev.ServiceName != "" {
		r.size += c.set(r.attributes.PutEmpty("service.name"), reader.StringValue(ev.ServiceName), 0) + memberSize
	}
	r.size += c.identify(r.attributes, ev)
	if o.resourceBytes += len(o.key); len(o.resources) == maxOrigins || o.resourceBytes > maxOriginBytes {
		clear(o.resources)
		o.resourceBytes = len(o.key)
	}
	o.resources[string(o.key)] = r
	return r
}

// processOf returns the process that wrote an event, the name of its program and the id of its container. They are 0 or ""
// if they are unknown or omitted.
func (c *Converter) processOf(ev *reader.Event) (pid int32, program, container string) {
	if !c.o.OmitPID {
		pid = ev.PID
	}
	if !c.o.OmitExecutableName {
		program = ev.Process.Program()
	}
	if !c.o.OmitContainerID && ev.Process != nil {
		container = ev.Process.ContainerID
	}
	return pid, program, container
}

// identify puts the known attributes of an event's process, and returns their approximate size in JSON.
func (c *Converter) identify(to pcommon.Map, ev *reader.Event) (size int) {
	put := func(name string, v reader.Value) {
		putMissing(to, name, func(to pcommon.Value) { size += c.set(to, v, 0) + len(name) + memberSize })
	}
	pid, program, container := c.processOf(ev)
	if pid != 0 {
		put("process.pid", reader.Int64Value(int64(pid)))
	}
	if program != "" {
		put("process.executable.name", reader.StringValue(program))
	}
	if container != "" {
		put("container.id", reader.StringValue(container))
	}
	return size
}

func (c *Converter) scopeOf(ev *reader.Event) *scope {
	o := &c.origins
	o.key = appendTexts(o.key[:0], ev.ScopeName, ev.ScopeVersion, ev.ScopeSchemaURL)
	o.key = reader.AppendJSON(o.key, ev.ScopeAttributes)
	if s := o.scopes[string(o.key)]; s != nil {
		return s
	}
	s := &scope{scope: pcommon.NewInstrumentationScope(), schemaURL: c.texts.keep(ev.ScopeSchemaURL)}
	s.scope.SetName(c.texts.keep(ev.ScopeName))
	s.scope.SetVersion(c.texts.keep(ev.ScopeVersion))
	s.size = jsonSize(ev.ScopeName) + jsonSize(ev.ScopeVersion) + jsonSize(ev.ScopeSchemaURL) + c.putAll(s.scope.Attributes(), ev.ScopeAttributes, 0)
	if o.scopeBytes += len(o.key); len(o.scopes) == maxOrigins || o.scopeBytes > maxOriginBytes {
		clear(o.scopes)
		o.scopeBytes = len(o.key)
	}
	o.scopes[string(o.key)] = s
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
