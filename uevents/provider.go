package uevents

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/backend/memory"
	"github.com/userevents/userevents-go/tracepoint"
)

// Open opens a transport for events: the kernel's user_events, which takes permission to write one file of tracefs, or shared memory
// of the program, where the kernel has none or refuses; see [Options].
//
// The provider returned is never nil. With an error its events are never enabled, and the
// error says what is missing and what to do; the package documentation says how to test it.
func Open(o *Options) (*Provider, error) {
	b, t, err := openTransport(o)
	if err != nil {
		return disabledProvider(err, o), err
	}
	return newProvider(b, t, o), nil
}

func openTransport(o *Options) (backend.Backend, Transport, error) {
	t, err := o.transport()
	if err != nil {
		return nil, TransportOff, &Error{Op: "open", Err: err}
	}
	if t == TransportOff {
		return nil, TransportOff, &Error{Op: "open", Err: errOff}
	}
	var refused error
	if t != TransportMemory {
		b, err := openKernel(o)
		if err == nil {
			return b, TransportKernel, nil
		}
		if t == TransportKernel || namesKernel(o) {
			return nil, TransportOff, err
		}
		refused = err
	}
	b, err := memory.Open(getenv(envDir))
	if err == nil {
		return b, TransportMemory, nil
	}
	if errors.Is(err, errors.ErrUnsupported) {
		err = fmt.Errorf("%w: %w", ErrNotSupported, err)
	}
	err = &Error{Op: "open", Name: "shared memory", Err: err}
	if refused != nil {
		err = fmt.Errorf("%w; %w", refused, err)
	}
	return nil, TransportOff, err
}

// Provider is an open user_events_data: what a program registers its events with. Its
// methods may be called concurrently.
//
// A provider that the kernel refused, see [Open], works like any other; its events are
// never enabled. So does a nil or zero Provider.
type Provider struct {
	res    *resources // nil if unavailable
	err    error      // why it is
	abi    ABI
	way    Transport
	limit  int // of a payload; 0 is tracepoint.MaxPayload
	closed atomic.Bool

	mu     sync.Mutex
	events map[*Event]struct{} // registered and not closed

	waiting sync.Mutex   // while Register waits for the kernel to remove an event of other fields
	waited  atomic.Int64 // how often
}

// newProvider wraps a backend. The kernel gets everything back when the program forgets to
// call Close and neither the provider nor any of its events can be reached.
func newProvider(b backend.Backend, t Transport, o *Options) *Provider {
	res := newResources(b)
	p := &Provider{res: res, abi: ABI(b.ABI()), way: t, limit: o.maxPayload(), events: map[*Event]struct{}{}}
	runtime.AddCleanup(p, func(r *resources) { _ = r.closeAll() }, res)
	return p
}

func disabledProvider(err error, o *Options) *Provider {
	return &Provider{err: err, way: TransportOff, limit: o.maxPayload()}
}

// noProvider takes the place of a nil provider.
var noProvider = new(Provider)

func init() {
	backend.NewProvider = func(b backend.Backend) any { return newProvider(b, TransportKernel, nil) }
}

// Err returns the error that [Open] returned: nil if the provider is connected to the
// kernel.
func (p *Provider) Err() error {
	if p == nil || p.res == nil && p.err == nil {
		return errNotOpened
	}
	return p.err
}

// MaxPayload returns the largest payload in bytes that the provider's events accept; see [Options].
func (p *Provider) MaxPayload() int {
	if p == nil || p.limit == 0 {
		return tracepoint.MaxPayload
	}
	return p.limit
}

// Transport returns the way that the provider's events take: [TransportKernel], [TransportMemory], or [TransportOff] if Open
// returned an error. A simulated kernel counts as one.
func (p *Provider) Transport() Transport {
	if p == nil || p.way == TransportAuto {
		return TransportOff
	}
	return p.way
}

// ABI returns the generation of the kernel's interface, [ABIUnknown] if Open returned an error. Memory follows the rules of
// [ABIEnableAddress].
func (p *Provider) ABI() ABI {
	if p == nil {
		return ABIUnknown
	}
	return p.abi
}

// Delete deletes an event by name: a persistent one, or any before Linux 6.5, which keeps them all. The kernel refuses with EBUSY while a tracing tool is attached or a provider that registered the event is
// open, this one included, even after [Event.Close]; with ENOENT if there is no such event; and with EPERM if it is
// persistent and the program lacks CAP_PERFMON. Some references last a moment longer than their owner, so a caller
// that has just closed or detached them repeats the call on EBUSY.
//
// The error wraps [ErrClosed] after Close. A provider of [Options.File] that does not know the path of its file cannot
// delete events.
func (p *Provider) Delete(name string) error {
	if err := (tracepoint.Declaration{Name: name}).Validate(); err != nil {
		return &Error{Op: "delete", Name: name, Err: err}
	}
	if p == nil || p.res == nil {
		return &Error{Op: "delete", Name: name, Err: p.Err()}
	}
	if p.closed.Load() {
		return &Error{Op: "delete", Name: name, Err: ErrClosed}
	}
	if err := p.res.backend.Delete(name); err != nil {
		return &Error{Op: "delete", Name: name, Err: err, Remedy: remedyDelete(err)}
	}
	return nil
}

// Close unregisters all events and closes the descriptor. Events then stay disabled. Close
// waits for no writer: while one is in flight the descriptor stays open, and the last writer
// closes it. Close may be called more than once and at any time.
func (p *Provider) Close() error {
	if p == nil {
		return nil
	}
	p.closed.Store(true)
	if p.res == nil {
		return nil
	}
	p.mu.Lock()
	for e := range p.events {
		e.word.Store(&never)
	}
	clear(p.events)
	p.mu.Unlock()
	return p.res.closeAll()
}

// adopt makes an event known to Close. It reports false when Close came first.
func (p *Provider) adopt(e *Event) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		return false
	}
	e.word.Store(e.reg.place.word)
	p.events[e] = struct{}{}
	return true
}

// abandon undoes adopt.
func (p *Provider) abandon(e *Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.word.Store(&never)
	delete(p.events, e)
}
