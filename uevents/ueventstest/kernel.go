package ueventstest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/backend/registry"
	"github.com/userevents/userevents-go/internal/errno"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// defaultMaxEvents is the kernel's default for the sysctl kernel.user_events_max.
const defaultMaxEvents = 32768

// defaultBufferSize is the size in bytes of a tracing tool's buffer unless [Options] say
// otherwise.
const defaultBufferSize = 1 << 20

// Options say what kind of kernel to simulate. The zero value, like a nil pointer, means a
// current kernel and a program that may do everything.
type Options struct {
	// ABI is the generation of the user_events interface. The zero value means
	// [uevents.ABIEnableAddress].
	ABI uevents.ABI

	// BufferSize is the size in bytes of the buffer of each tool. A record takes its
	// payload and 24 bytes. 0 means 1 MiB.
	BufferSize int

	// MaxEvents is the largest number of events, kernel.user_events_max. 0 means
	// 32768. The status generations have no such setting: what limits them is
	// their status page, to 4,095 (bytes) and 32,767 (bits) events.
	MaxEvents int
}

// Kernel is a kernel with user_events, as far as programs and tracing tools see it. Its methods
// may be called concurrently.
type Kernel struct {
	abi        backend.ABI
	bufferSize int
	maxEvents  int

	// The lock of events guards what follows.
	events *registry.Registry[state]
	lastID int
	page   *statusPage // of the status generations, else nil
	files  int
	tools  map[*Tool]struct{}
	closed bool
	// allocated are the enable words that were not freed.
	allocated map[*atomic.Uintptr]struct{}
	// freedInUse has the events of which a word was freed while registered.
	freedInUse []string

	// recording orders records. It is taken after the lock of events, by writers without that one.
	recording sync.Mutex
	seq       uint64
}

// New returns a kernel for a test. When the test ends, the kernel is closed and the test
// fails if a provider is still open (see [Kernel.Close]). So close providers by defer or by
// a Cleanup that is registered after New. A nil o means defaults. tb is a *testing.T or a
// *testing.B: programs can use a Kernel without linking package testing.
func New(tb interface {
	Helper()
	Cleanup(func())
	Error(args ...any)
}, o *Options,
) *Kernel {
	tb.Helper()
	k := NewKernel(o)
	tb.Cleanup(func() {
		tb.Helper()
		if err := k.Close(); err != nil {
			tb.Error(err)
		}
	})
	return k
}

// NewKernel returns a kernel that the caller closes. In a test, use [New]. A nil o means
// defaults.
func NewKernel(o *Options) *Kernel {
	if o == nil {
		o = new(Options)
	}
	k := &Kernel{
		abi:        backend.ABI(o.ABI),
		bufferSize: o.BufferSize,
		maxEvents:  o.MaxEvents,
		allocated:  make(map[*atomic.Uintptr]struct{}),
		tools:      make(map[*Tool]struct{}),
	}
	switch k.abi {
	case backend.StatusByte, backend.StatusBit:
		k.page = newStatusPage(k.abi)
	default:
		k.abi = backend.EnableAddress
	}
	k.events = registry.New(owner{k}, k.page != nil)
	if k.bufferSize <= 0 {
		k.bufferSize = defaultBufferSize
	}
	if k.maxEvents <= 0 {
		k.maxEvents = defaultMaxEvents
	}
	return k
}

// Close detaches all tracing tools, so that every event becomes disabled. It returns an error if
// a provider is still open, an enable bit still registered or an enable word not freed: a
// leak of the program under test. A provider that is still open stays usable, but can register nothing more. A second
// Close does nothing.
func (k *Kernel) Close() error {
	k.events.Lock()
	defer k.events.Unlock()
	if k.closed {
		return nil
	}
	k.closed = true
	k.events.Refuse(errno.ENODEV)
	for t := range k.tools {
		k.detach(t)
	}
	var problems []string
	if k.files > 0 {
		problems = append(problems, fmt.Sprintf("providers still open: %d", k.files))
	}
	var names []string
	for _, e := range k.events.Followed() {
		names = append(names, e.Decl.Name)
	}
	if names != nil {
		slices.Sort(names)
		problems = append(problems, fmt.Sprintf("enable bits still registered: %d, of %s",
			len(names), strings.Join(slices.Compact(names), ", ")))
	}
	if len(k.allocated) > 0 {
		problems = append(problems, fmt.Sprintf("enable words not freed: %d", len(k.allocated)))
	}
	if len(k.freedInUse) > 0 {
		problems = append(problems, "enable words freed while registered, of "+strings.Join(k.freedInUse, ", "))
	}
	if problems == nil {
		return nil
	}
	return errors.New("ueventstest: " + strings.Join(problems, "; "))
}

// Provider returns a new provider of this kernel, as [uevents.Open] returns it where the
// real kernel has user_events. It belongs to the caller, who closes it.
func (k *Kernel) Provider() *uevents.Provider {
	return backend.NewProvider(k.open()).(*uevents.Provider)
}

// EventInfo describes an event of a kernel, and what holds it.
type EventInfo struct {
	Name string

	// Declaration is what the event was registered as. Do not change its Fields.
	Declaration tracepoint.Declaration

	Files  int // open user_events_data files that registered it
	Words  int // enable bits that follow it; 0 with the status generations
	Ftrace int // tools of this kind
	Perf   int // tools of this kind
}

// Events describes all events, in the order of their registration.
func (k *Kernel) Events() []EventInfo {
	k.events.Lock()
	defer k.events.Unlock()
	var out []EventInfo
	for _, e := range k.events.Events() {
		info := EventInfo{
			Name:        e.Decl.Name,
			Declaration: e.Decl,
			Files:       e.Files(),
			Words:       len(e.Bits()),
		}
		for _, p := range e.State.attached() {
			if p.tool.kind == Perf {
				info.Perf++
			} else {
				info.Ftrace++
			}
		}
		out = append(out, info)
	}
	return out
}

// Status returns the text of user_events_status, as this generation of the interface prints
// it. A real kernel lists events in no particular order, this one in the order of their
// registration.
func (k *Kernel) Status() string {
	k.events.Lock()
	defer k.events.Unlock()
	var b strings.Builder
	busy := 0
	for _, e := range k.events.Events() {
		if k.page != nil {
			fmt.Fprintf(&b, "%d:", e.State.slot)
		}
		used := e.State.usedBy()
		if used != "" {
			busy++
		}
		b.WriteString(e.Decl.Name + used + "\n")
	}
	fmt.Fprintf(&b, "\nActive: %d\nBusy: %d\n", k.events.Len(), busy)
	if k.page != nil {
		fmt.Fprintf(&b, "Max: %d\n", k.page.max())
	}
	return b.String()
}

// Format returns the text of a tracepoint's format file. The error wraps ENOENT if there is no such event.
func (k *Kernel) Format(name string) (string, error) {
	k.events.Lock()
	defer k.events.Unlock()
	e := k.events.Find(name)
	if e == nil {
		return "", fmt.Errorf("ueventstest: format of event %q: %w", name, errno.ENOENT)
	}
	f := e.Decl.Format()
	f.ID = e.State.id
	return f.String(), nil
}
