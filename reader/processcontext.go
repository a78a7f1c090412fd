package reader

import (
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/internal/processcontext"
)

const (
	maxServiceName  = 1024     // bytes
	maxResource     = 4 << 10  // bytes of the JSON of the other attributes of a process
	maxAllResources = 16 << 20 // of those of all processes
	maxWaiting      = 4        // processes that let the kernel wait
	maxLooks        = 12       // for the context of a process, which are 16 days
)

var (
	// patience is how long one process is waited for.
	patience = time.Second
	// pause is how long no context is looked for after a process that was waited for in vain: such programs, of which one begins when the
	// last ends, would keep the reader waiting all the time.
	pause = time.Minute
)

// contexts reads OpenTelemetry's process contexts, which programs publish. It may be used concurrently.
type contexts struct {
	proc    string
	waiting chan struct{} // has an element for each goroutine that reads
	stalled atomic.Int64  // when a process was waited for in vain, in nanoseconds since 1970
	bytes   atomic.Int64  // of JSON of the resources that processes keep
}

// published is the context of a process. It is empty if there is none.
type published struct {
	service  string
	resource string // as Process.ResourceJSON
}

func newContexts(proc string) *contexts {
	return &contexts{proc: proc, waiting: make(chan struct{}, maxWaiting)}
}

// of returns the context of a process; an empty one if the process publishes none, or if this one has no permission to read its memory.
// A process can let the kernel wait for its memory until the process ends. Then the goroutine waits alone, and with several such processes
// no other is read.
func (c *contexts) of(pid int32) published {
	if time.Since(time.Unix(0, c.stalled.Load())) < pause {
		return published{}
	}
	select {
	case c.waiting <- struct{}{}:
	default:
		return published{}
	}
	result := make(chan published, 1)
	go func() {
		defer func() { <-c.waiting }()
		result <- readContext(filepath.Join(c.proc, strconv.Itoa(int(pid))))
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case p := <-result:
		return p
	case <-timer.C:
		c.stalled.Store(time.Now().UnixNano())
		return published{}
	}
}

// give sets the context of a task, if it publishes one, and reports whether it does.
func (c *contexts) give(t *task) bool {
	p := c.of(t.PID)
	if p == (published{}) {
		return false
	}
	if size := int64(len(p.resource)); c.bytes.Add(size) > maxAllResources { // programs publish what they like
		c.bytes.Add(-size)
		p.resource = ""
	}
	t.ServiceName, t.ResourceJSON = p.service, p.resource
	t.context.at = math.MaxUint64
	return true
}

// release makes room for other contexts than that of a task. Events may still refer to it.
func (c *contexts) release(t *task) { c.bytes.Add(-int64(len(t.ResourceJSON))) }

// readContext reads the context of a process by its directory. Attributes that are too large are omitted.
func readContext(dir string) (p published) {
	attributes, err := processcontext.Read(dir)
	if err != nil {
		return p
	}
	var resource []Field
	var json []byte
	for _, a := range attributes {
		if a.Key == "service.name" {
			if name, ok := a.Value.(string); ok && len(name) <= maxServiceName {
				p.service = strings.Clone(name)
			}
			continue
		}
		if slices.ContainsFunc(resource, func(f Field) bool { return f.Name == a.Key }) {
			continue
		}
		resource = append(resource, Field{a.Key, contextValue(a.Value)})
		if more := AppendJSON(nil, resource); len(more) <= maxResource {
			json = more
		} else {
			resource = resource[:len(resource)-1]
		}
	}
	p.resource = string(json)
	return p
}

// contextValue returns a value of a process context.
func contextValue(v any) Value {
	switch v := v.(type) {
	case string:
		return StringValue(v)
	case bool:
		return BoolValue(v)
	case int64:
		return Int64Value(v)
	case float64:
		return Float64Value(v)
	case []byte:
		return BytesValue(v)
	case []any:
		list := make([]Field, 0, len(v))
		for _, element := range v {
			list = append(list, Field{Value: contextValue(element)})
		}
		return ListValue(list)
	case []processcontext.Attribute:
		fields := make([]Field, 0, len(v))
		for _, a := range v {
			fields = append(fields, Field{a.Key, contextValue(a.Value)})
		}
		return MapValue(fields)
	}
	return Value{}
}

// contextLook says when the context of a process is looked for: at its first record and, while there is none, at the first record a second
// later, at that four seconds after this one, and so on. A program may publish it late.
type contextLook struct {
	looks int
	at    uint64 // in nanoseconds of CLOCK_MONOTONIC
}

// due reports whether to look now, at the time of a record. A program can write any time.
func (l *contextLook) due(now uint64) bool {
	if now < l.at || l.looks == maxLooks {
		return false
	}
	l.at = now + uint64(time.Second)<<(2*l.looks)
	if l.looks++; l.looks == maxLooks {
		l.at = math.MaxUint64
	}
	return true
}
