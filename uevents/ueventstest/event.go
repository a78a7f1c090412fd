package ueventstest

import (
	"strings"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend/registry"
	"github.com/userevents/userevents-go/internal/errno"
)

// Bits of an event's status: what user_events_status prints, and on kernels with status
// bytes what programs read.
const (
	statusFtrace = 1 << 0
	statusPerf   = 1 << 1
)

// event is one event of a kernel.
type event = registry.Event[state]

type state struct {
	id   int    // of the tracepoint
	slot uint32 // index in the status page, of the status generations

	// probes is who gets a copy of a write, or nil. Writers read it without a lock.
	probes atomic.Pointer[[]probe]
}

func (s *state) attached() []probe {
	if p := s.probes.Load(); p != nil {
		return *p
	}
	return nil
}

func (s *state) setProbes(p []probe) {
	if len(p) == 0 {
		s.probes.Store(nil)
	} else {
		s.probes.Store(&p)
	}
}

func (s *state) status() (bits uint32) {
	for _, p := range s.attached() {
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
func (s *state) usedBy() string {
	var b strings.Builder
	if bits := s.status(); bits != 0 {
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

type owner struct{ k *Kernel }

// Create gives an event its place in the status page and its number.
func (o owner) Create(e *event) error {
	k := o.k
	full := k.events.Len() >= k.maxEvents
	if k.page != nil {
		e.State.slot, full = k.page.take()
	}
	if full {
		return errno.EMFILE
	}
	k.lastID++
	e.State.id = k.lastID
	return nil
}

func (o owner) Destroy(e *event) {
	if o.k.page != nil {
		o.k.page.set(e.State.slot, 0)
		o.k.page.free(e.State.slot)
	}
}

func (owner) Attached(e *event) bool { return e.State.probes.Load() != nil }

func (owner) Add(e *event, b registry.Bit) { b.Set(e.State.status() != 0) }

func (owner) Remove(_ *event, b registry.Bit) { b.Set(false) }

// update tells programs who traces an event, after that changed. It is called with the registry's lock held.
func (k *Kernel) update(e *event) {
	bits := e.State.status()
	if k.page != nil {
		k.page.set(e.State.slot, bits)
	}
	for _, b := range e.Bits() {
		b.Set(bits != 0)
	}
}
