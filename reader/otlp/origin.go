package otlp

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/userevents/userevents-go/record"
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

type scope struct {
	scope     pcommon.InstrumentationScope
	schemaURL string
	size      int
}

type origin struct {
	resource *resource
	scope    *scope
}

// groups are the records of a signal by their resource R and their scope S: L is the list of those of one scope.
type groups[R resourceGroup, S scopeGroup, L any] struct {
	addResource func() R
	addScope    func(R) S
	list        func(S) L

	resources  map[*resource]R
	lists      map[origin]L
	lastOrigin origin // of the last record
	lastList   L
	bytes      int // approximate size of the data as JSON
}

type resourceGroup interface{ Resource() pcommon.Resource }

type scopeGroup interface {
	Scope() pcommon.InstrumentationScope
	SetSchemaUrl(url string)
}

func newGroups[R resourceGroup, S scopeGroup, L any](addResource func() R, addScope func(R) S, list func(S) L) groups[R, S, L] {
	return groups[R, S, L]{addResource: addResource, addScope: addScope, list: list, resources: map[*resource]R{}, lists: map[origin]L{}}
}

const groupSize = len(`{"resource":{"attributes":[]},"scopeLogs":[{"scope":{"name":"","version":"","attributes":[]},"logRecords":[],"schemaUrl":""}]},`)

// group returns the list for the records of an origin.
func (g *groups[R, S, L]) group(o origin) L {
	if o != g.lastOrigin {
		g.lastOrigin, g.lastList = o, g.find(o)
	}
	return g.lastList
}

func (g *groups[R, S, L]) find(o origin) L {
	if list, ok := g.lists[o]; ok {
		return list
	}
	r, ok := g.resources[o.resource]
	if !ok {
		r = g.addResource()
		o.resource.attributes.CopyTo(r.Resource().Attributes())
		g.resources[o.resource] = r
		g.bytes += o.resource.size
	}
	s := g.addScope(r)
	o.scope.scope.CopyTo(s.Scope())
	s.SetSchemaUrl(o.scope.schemaURL)
	g.bytes += o.scope.size + groupSize
	g.lists[o] = g.list(s)
	return g.lists[o]
}

type origins struct {
	resources map[string]*resource
	scopes    map[string]*scope

	resourceBytes, scopeBytes int

	last         origin
	key, lastKey []byte // of the event and of last
}

// originOf returns the origin of an event. Its texts do not keep those of records in memory.
func (c *Converter) originOf(ev *record.Record) origin {
	o := &c.origins
	key := o.key[:0]
	if !c.o.OmitPID {
		key = binary.LittleEndian.AppendUint32(key, uint32(ev.PID))
	}
	key = append(key, c.keyOf(ev.Process)[:]...)
	key = appendTexts(key, ev.ServiceName)
	key = record.AppendJSON(key, ev.Resource)
	scope := len(key)
	key = appendTexts(key, ev.ScopeName, ev.ScopeVersion, ev.ScopeSchemaURL)
	key = record.AppendJSON(key, ev.ScopeAttributes)
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
func (c *Converter) resourceOf(ev *record.Record, key []byte) *resource {
	o := &c.origins
	if r := o.resources[string(key)]; r != nil {
		return r
	}
	r := &resource{attributes: pcommon.NewMap()}
	r.size = c.putAll(r.attributes, ev.Resource, 0)
	if ev.ServiceName != "" {
		r.size += c.set(r.attributes.PutEmpty(keyServiceName), record.StringValue(ev.ServiceName), 0) + memberSize
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
func (c *Converter) scopeOf(ev *record.Record, key []byte) *scope {
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

// Names of the resource attributes that the converter adds.
const (
	keyServiceName    = "service.name"
	keyPID            = "process.pid"
	keyExecutableName = "process.executable.name"
	keyCgroup         = "process.linux.cgroup"
	keyContainerID    = "container.id"
	keyPodUID         = "k8s.pod.uid"
	keyHostName       = "host.name"
	keyNodeName       = "k8s.node.name"
)

// writers caches what tells the resources of processes apart, without their ids. A Process does not change.
type writers struct {
	keys   map[*record.Process]writerKey
	last   *record.Process
	key    writerKey // of last
	buffer []byte
}

// writerKey is a digest: programs can publish much, and each record has the key.
type writerKey [sha256.Size]byte

// keyOf returns the key of the process that wrote an event.
func (c *Converter) keyOf(p *record.Process) *writerKey {
	w := &c.writers
	if p == w.last && w.keys != nil {
		return &w.key
	}
	key, ok := w.keys[p]
	if !ok {
		if w.keys == nil || len(w.keys) == maxOrigins {
			w.keys = map[*record.Process]writerKey{}
		}
		if p != nil {
			w.buffer = record.AppendJSON(w.buffer[:0], c.known(0, p))
			key = sha256.Sum256(appendTexts(w.buffer, c.chosenName(p), p.ServiceName, p.ResourceJSON))
		}
		w.keys[p] = key
	}
	w.last, w.key = p, key
	return &w.key
}

// chosenName returns the name that a program has chosen, if its file is not known.
func (c *Converter) chosenName(p *record.Process) string {
	if p.Exe != "" || c.o.OmitExecutableName {
		return ""
	}
	return p.Comm
}

// identify puts into the resource of an event who wrote it, and returns the approximate size of that in JSON. What the kernel says
// replaces what the program says; what the program has published for all of its data is added.
func (c *Converter) identify(to pcommon.Map, ev *record.Record) (size int) {
	p := ev.Process
	if p == nil {
		p = &record.Process{}
	}
	missing := func(name string, v record.Value) {
		putMissing(to, c.texts.keep(name), func(to pcommon.Value) { size += c.set(to, v, 0) + jsonSize(name) + memberSize })
	}
	context, _ := record.ParseJSON(p.ResourceJSON)
	for _, f := range context.Fields() {
		missing(f.Name, f.Value)
	}
	if p.ServiceName != "" {
		missing(keyServiceName, record.StringValue(p.ServiceName))
	}
	known := c.known(ev.PID, p)
	to.RemoveIf(func(name string, _ pcommon.Value) bool { // a request can have several of one name
		return slices.ContainsFunc(known, func(f record.Field) bool { return f.Name == name })
	})
	for _, f := range known {
		if f.Value.Type() != record.TypeNull {
			size += c.put(to, &f, 0)
		}
	}
	if name := c.chosenName(p); name != "" {
		missing(keyExecutableName, record.StringValue(name))
	}
	return size
}

// known returns the attributes that do not depend on what a program says. Null says that the process has none.
func (c *Converter) known(pid int32, p *record.Process) (list []record.Field) {
	text := func(name, value string, evenNone bool) {
		switch {
		case value != "":
			list = append(list, record.Field{Name: name, Value: record.StringValue(value)})
		case evenNone:
			list = append(list, record.Field{Name: name})
		}
	}
	if pid != 0 && !c.o.OmitPID {
		list = append(list, record.Field{Name: keyPID, Value: record.Int64Value(int64(pid))})
	}
	if p.Exe != "" && !c.o.OmitExecutableName {
		text(keyExecutableName, p.Program(), false)
	}
	outside := p.Cgroup != "" && (p.Cgroup != "/" || c.o.RootCgroup) // the cgroup says whether there is a container
	if !c.o.OmitContainerID {
		text(keyContainerID, p.ContainerID, outside)
	}
	if !c.o.OmitPodUID {
		text(keyPodUID, p.PodUID, outside)
	}
	if !c.o.OmitCgroup {
		text(keyCgroup, p.Cgroup, false)
	}
	text(keyHostName, c.o.HostName, false)
	text(keyNodeName, c.o.NodeName, false)
	return list
}
