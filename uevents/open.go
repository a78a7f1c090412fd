package uevents

import (
	"errors"
	"fmt"

	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/internal/backend/memory"
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
