package usereventsreceiver

import (
	"errors"
	"io/fs"
	"maps"
	"sync"

	"github.com/userevents/userevents-go/uevents"
)

// available says of each transport whether its events are read: a node that collects nothing must not look like one whose programs write
// nothing. Its methods may be called concurrently.
type available struct {
	mu sync.Mutex
	of map[Transport]string // reason by transport; empty if the events are read
}

// set notes why the events of a transport, or of all, are not read; nil if they are.
func (a *available) set(t Transport, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[Transport]string{}
	}
	for _, each := range []Transport{transportKernel, transportMemory} {
		if t == each || t == transportAny {
			a.of[each] = unavailable(err)
		}
	}
}

// reasons returns the reason of each transport of which it is known whether it is read.
func (a *available) reasons() map[Transport]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.of)
}

// unavailable returns the reason for an error as a metric has it.
func unavailable(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, uevents.ErrNotSupported):
		return "not_supported"
	case errors.Is(err, fs.ErrPermission):
		return "permission"
	case errors.Is(err, fs.ErrNotExist):
		return "not_found"
	}
	return "error"
}
