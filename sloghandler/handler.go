package sloghandler

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/userevents/userevents-go/uevents"
)

// Handler is a [slog.Handler] that writes records as user events. Handlers come from [New]
// and from methods of other handlers. Methods may be called concurrently, also during and
// after Close.
type Handler struct {
	*sink

	// What a handler adds to the one that it was derived from: a group or attributes. A
	// list of these costs less to extend than a copy of everything so far, and siblings
	// have nothing in common that one of them could change.
	parent *Handler
	group  string
	attrs  []slog.Attr // resolved, replaced and frozen

	ready atomic.Pointer[bound]
}

// Enabled reports whether anybody traces records of the level: its event, or a declared
// record of that level.
func (h *Handler) Enabled(_ context.Context, level slog.Level) bool {
	// Nothing here is a call, so the function needs no stack, which would be most of its cost.
	if !h.all.MaybeEnabled() {
		return false
	}
	return h.groups[rangeOf(level)%ranges].Enabled() && level >= h.least.Level()
}

// Handle writes a record if anybody traces its event, with one system call. Its error is
// one of the kernel's; that nobody traces, or that the handler was closed, is none.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	o := h.outlet(r.Level, r.Message)
	if !o.event.Enabled() {
		return nil // slog's wrappers ask late, or not at all
	}
	if h.leveler != nil && r.Level < h.leveler.Level() {
		return nil
	}
	err := h.write(ctx, o, &r)
	if err == nil || errors.Is(err, uevents.ErrClosed) {
		return nil
	}
	return err
}

// WithAttrs returns a handler whose records have the attributes too.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	if h.replace != nil || !plain(attrs) {
		attrs = h.freeze(attrs)
	}
	return &Handler{sink: h.sink, parent: h, attrs: attrs}
}

// WithGroup returns a handler that puts the attributes that follow into a group.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &Handler{sink: h.sink, parent: h, group: name}
}

// Close unregisters the events, for all handlers derived from the same New. Afterwards they
// are never enabled. It may be called at any time and more than once.
func (h *Handler) Close() error { return h.close() }
