package ueventstest

import (
	"strings"
	"sync/atomic"

	"github.com/userevents/userevents-go/tracepoint"
)

// Bits of an event's status: what user_events_status prints, and on kernels with status
// bytes what programs read.
const (
	statusFtrace = 1 << 0
	statusPerf   = 1 << 1
)

// event is one event of a kernel. Everything but probes is either constant or guarded by
// Kernel.mu.
type event struct {
	decl tracepoint.Declaration
	id   int
	slot uint32 // index in the status page, of the status generations

	// What holds the event: open files, enable words and, in probes, tools.
	files int
	words []enabler

	// probes is who gets a copy of a write, or nil. Writers read it without a lock.
	probes atomic.Pointer[[]probe]
}

// enabler is a bit of a program's memory that follows an event.
type enabler struct {
	word *atomic.Uintptr
	bit  uint8
}

func (w enabler) set(on bool) {
	if on {
		w.word.Or(1 << w.bit)
	} else {
		w.word.And(^(uintptr(1) << w.bit))
	}
}

func (e *event) attached() []probe {
	if p := e.probes.Load(); p != nil {
		return *p
	}
	return nil
}

// busy reports whether the event is still held, so that it cannot be removed.
func (e *event) busy() bool {
	return e.files > 0 || len(e.words) > 0 || e.probes.Load() != nil
}

func (e *event) status() (bits uint32) {
	for _, p := range e.attached() {
		switch p.tool.kind {
		case Ftrace:
			bits |= statusFtrace
		case Perf:
			bits |= statusPerf
		}
	}
	return bits
}

// usedBy prints the status in the words of user_events_status.
func (e *event) usedBy() string {
	var b strings.Builder
	if bits := e.status(); bits != 0 {
		b.WriteString(" # Used by")
		if bits&statusFtrace != 0 {
			b.WriteString(" ftrace")
		}
		if bits&statusPerf != 0 {
			b.WriteString(" perf")
		}
	}
	return b.String()
}
