package reader

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/internal/processcontext"
	"github.com/userevents/userevents-go/record"
)

const (
	maxServiceName  = 1024     // bytes
	maxResource     = 4 << 10  // bytes of the JSON of the other attributes of a process
	maxAllResources = 16 << 20 // of those of all processes
	maxWaiting      = 4        // processes that let the kernel wait
	maxLooks        = 12       // for the context of a process, which are 16 days
)

// patience is how long the reader waits for contexts at once.
var patience = time.Second

// contexts reads OpenTelemetry's process contexts, which programs publish. It may be used concurrently.
type contexts struct {
	proc    string
	waiting chan struct{} // has an element for each goroutine that reads
	waits   allowance
	bytes   atomic.Int64 // of JSON of the resources that processes keep
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
	began := time.Now()
	allowed := c.waits.at(began)
	if allowed == 0 {
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
	timer := time.NewTimer(allowed)
	defer timer.Stop()
	defer func() { c.waits.spend(time.Since(began)) }()
	select {
	case p := <-result:
		return p
	case <-timer.C:
		return published{}
	}
}

// allowance limits how long the reader waits for contexts: for patience at once, and for a small part of the time in the long run. A program can
// let each wait take long, and have a new process for each. The zero value is ready for use.
type allowance struct {
	mu   sync.Mutex
	left time.Duration
	last time.Time
}

const (
	waitShare = 20  // one part in so many of the time
	minWait   = 100 // one part in so many of patience; a shorter wait would be in vain
)

// at returns how long to wait at a time; 0 if a wait would not be allowed for long enough.
func (a *allowance) at(now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last.IsZero() {
		a.left = patience
	} else {
		a.left = min(patience, a.left+now.Sub(a.last)/waitShare)
	}
	a.last = now
	if a.left < patience/minWait {
		return 0
	}
	return a.left
}

// spend notes a wait.
func (a *allowance) spend(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left -= d
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

// readContext reads the context of a process by its directory. Attributes that are too large are omitted, and those whose name another one has.
func readContext(dir string) (p published) {
	attributes, err := processcontext.Read(dir)
	if err != nil {
		return p
	}
	names := make(map[string]bool, len(attributes))
	var resource []record.Field
	size := len("{}")
	for _, a := range attributes { // there can be thousands
		if names[a.Key] {
			continue
		}
		names[a.Key] = true
		if a.Key == "service.name" {
			if name, ok := a.Value.(string); ok && len(name) <= maxServiceName {
				p.service = strings.Clone(name)
			}
			continue
		}
		f := []record.Field{{Name: a.Key, Value: contextValue(a.Value)}}
		if more := len(record.AppendJSON(nil, f)) - len("{}") + len(","); size+more <= maxResource {
			resource = append(resource, f...)
			size += more
		}
	}
	if len(resource) > 0 {
		p.resource = string(record.AppendJSON(nil, resource))
	}
	return p
}

func contextValue(v any) record.Value {
	switch v := v.(type) {
	case string:
		return record.StringValue(v)
	case bool:
		return record.BoolValue(v)
	case int64:
		return record.Int64Value(v)
	case float64:
		return record.Float64Value(v)
	case []byte:
		return record.BytesValue(v)
	case []any:
		list := make([]record.Field, 0, len(v))
		for _, element := range v {
			list = append(list, record.Field{Value: contextValue(element)})
		}
		return record.ListValue(list)
	case []processcontext.Attribute:
		fields := make([]record.Field, 0, len(v))
		for _, a := range v {
			fields = append(fields, record.Field{Name: a.Key, Value: contextValue(a.Value)})
		}
		return record.MapValue(fields)
	}
	return record.Value{}
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
