package otlp

import (
	"crypto/sha256"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/userevents/userevents-go/reader"
)

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
	keys   map[*reader.Process]writerKey
	last   *reader.Process
	key    writerKey // of last
	buffer []byte
}

// writerKey is a digest: programs can publish much, and each record has the key.
type writerKey [sha256.Size]byte

// keyOf returns the key of the process that wrote an event.
func (c *Converter) keyOf(p *reader.Process) *writerKey {
	w := &c.writers
	if p == w.last && w.keys != nil {
		return &w.key
	}
	key, ok := w.keys[p]
	if !ok {
		if w.keys == nil || len(w.keys) == maxOrigins {
			w.keys = map[*reader.Process]writerKey{}
		}
		if p != nil {
			w.buffer = reader.AppendJSON(w.buffer[:0], c.known(0, p))
			key = sha256.Sum256(appendTexts(w.buffer, c.chosenName(p), p.ServiceName, p.ResourceJSON))
		}
		w.keys[p] = key
	}
	w.last, w.key = p, key
	return &w.key
}

// chosenName returns the name that a program has chosen, if its file is not known.
func (c *Converter) chosenName(p *reader.Process) string {
	if p.Exe != "" || c.o.OmitExecutableName {
		return ""
	}
	return p.Comm
}

// identify puts into the resource of an event who wrote it, and returns the approximate size of that in JSON. What the kernel says
// replaces what the program says; what the program has published for all of its data is added.
func (c *Converter) identify(to pcommon.Map, ev *reader.Event) (size int) {
	p := ev.Process
	if p == nil {
		p = &reader.Process{}
	}
	missing := func(name string, v reader.Value) {
		putMissing(to, c.texts.keep(name), func(to pcommon.Value) { size += c.set(to, v, 0) + jsonSize(name) + memberSize })
	}
	context, _ := reader.ParseJSON(p.ResourceJSON)
	for _, f := range context.Fields() {
		missing(f.Name, f.Value)
	}
	if p.ServiceName != "" {
		missing(keyServiceName, reader.StringValue(p.ServiceName))
	}
	known := c.known(ev.PID, p)
	to.RemoveIf(func(name string, _ pcommon.Value) bool { // a request can have several of one name
		return slices.ContainsFunc(known, func(f reader.Field) bool { return f.Name == name })
	})
	for _, f := range known {
		if f.Value.Type() != reader.TypeNull {
			size += c.put(to, &f, 0)
		}
	}
	if name := c.chosenName(p); name != "" {
		missing(keyExecutableName, reader.StringValue(name))
	}
	return size
}

// known returns the attributes that do not depend on what a program says. Null says that the process has none.
func (c *Converter) known(pid int32, p *reader.Process) (list []reader.Field) {
	text := func(name, value string, evenNone bool) {
		switch {
		case value != "":
			list = append(list, reader.Field{Name: name, Value: reader.StringValue(value)})
		case evenNone:
			list = append(list, reader.Field{Name: name})
		}
	}
	if pid != 0 && !c.o.OmitPID {
		list = append(list, reader.Field{Name: keyPID, Value: reader.Int64Value(int64(pid))})
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
