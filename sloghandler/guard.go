package sloghandler

import (
	"log/slog"

	"github.com/userevents/userevents-go/uevents"
)

// Traced reports whether anybody traces records of the level. It is what Enabled asks,
// without a minimum level: a guard for calls whose arguments cost something to make.
//
//	if events.Traced(slog.LevelDebug) {
//		slog.Debug("cache state", "entries", cache.Dump())
//	}
//
// It asks about tracers only: do not guard with it what another handler is to have too.
func (h *Handler) Traced(level slog.Level) bool {
	if !h.all.MaybeEnabled() {
		return false
	}
	return h.groups[rangeOf(level)%ranges].Enabled()
}

// Guard asks whether anybody traces a declared record. It comes from [Handler.Guard]; the
// zero value is not usable.
type Guard struct{ event *uevents.Event }

// Traced reports whether anybody traces the record's event. It inlines to a load and a
// branch.
func (g Guard) Traced() bool { return g.event.Enabled() }

// Guard returns the guard of the declared record with the message, which is more precise
// than [Handler.Traced]: it does not fire for the other records of the level. It returns
// false if there is no such record, or its event could not be registered.
func (h *Handler) Guard(message string) (Guard, bool) {
	if record := h.records[message]; record != nil {
		for _, o := range record {
			if o != nil {
				return Guard{o.event}, true
			}
		}
	}
	return Guard{}, false
}
