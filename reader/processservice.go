package reader

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/userevents/userevents-go/internal/processcontext"
)

const (
	maxServiceName = 1024 // bytes
	maxWaiting     = 4    // processes that let the kernel wait
	maxLooks       = 12   // for the service of a process, which are 16 days
)

var (
	// patience is how long one process is waited for.
	patience = time.Second
	// pause is how long no service is looked for after a process that was waited for in vain: such programs, of which one begins when the
	// last ends, would keep the reader waiting all the time.
	pause = time.Minute
)

// services finds the services of processes, which publish them as OpenTelemetry's process context. It may be used concurrently.
type services struct {
	proc    string
	waiting chan struct{} // has an element for each goroutine that reads
	stalled atomic.Int64  // when a process was waited for in vain, in nanoseconds since 1970
}

func newServices(proc string) *services {
	return &services{proc: proc, waiting: make(chan struct{}, maxWaiting)}
}

// of returns the name of the service of a process; "" if the process publishes none, or if this one has no permission to read its memory.
// A process can let the kernel wait for its memory until the process ends. Then the goroutine waits alone, and with several such processes
// no other is read.
func (s *services) of(pid int32) string {
	if time.Since(time.Unix(0, s.stalled.Load())) < pause {
		return ""
	}
	select {
	case s.waiting <- struct{}{}:
	default:
		return ""
	}
	result := make(chan string, 1)
	go func() {
		defer func() { <-s.waiting }()
		result <- serviceName(filepath.Join(s.proc, strconv.Itoa(int(pid))))
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case name := <-result:
		return name
	case <-timer.C:
		s.stalled.Store(time.Now().UnixNano())
		return ""
	}
}

func serviceName(dir string) string {
	resource, err := processcontext.Read(dir)
	if err != nil {
		return ""
	}
	for _, a := range resource {
		if name, ok := a.Value.(string); ok && a.Key == "service.name" && len(name) <= maxServiceName {
			return strings.Clone(name)
		}
	}
	return ""
}

// serviceLook says when the service of a process is looked for: at its first record and, while it is unknown, at the first record a second
// later, at that four seconds after this one, and so on. A program may publish it late.
type serviceLook struct {
	looks int
	at    uint64 // in nanoseconds of CLOCK_MONOTONIC
}

// due reports whether to look now, at the time of a record. A program can write any time.
func (l *serviceLook) due(now uint64) bool {
	if now < l.at || l.looks == maxLooks {
		return false
	}
	l.at = now + uint64(time.Second)<<(2*l.looks)
	if l.looks++; l.looks == maxLooks {
		l.at = math.MaxUint64
	}
	return true
}
