package ueventstest

import (
	"github.com/userevents/userevents-go/internal/backend"
	"github.com/userevents/userevents-go/uevents"
)

// Provider returns a new provider of this kernel, as [uevents.Open] returns it where the
// real kernel has user_events. It belongs to the caller, who closes it.
func (k *Kernel) Provider() *uevents.Provider {
	return backend.NewProvider(k.open()).(*uevents.Provider)
}
