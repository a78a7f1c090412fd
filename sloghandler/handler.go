package sloghandler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/uevents"
)

// Options are the options of [New]. The zero value and nil mean defaults.
type Options struct {
	// Level is the least level to handle; nil means all. Whether anybody traces a level is
	// asked first, so a Leveler costs nothing while nobody does.
	Level slog.Leveler

	// AddSource fills in the field source with the function, file and line of the log call.
	AddSource bool

	// Provider registers the events. The handler borrows it: Close leaves it open. nil
	// means that the handler opens one with [uevents.Open] and closes it.
	Provider *uevents.Provider
}

// Handler is a [slog.Handler] that writes records as user events. Its methods may be called
// concurrently, also during and after Close.
type Handler struct {
	*sink
	attrs attrjson.Prefix // what WithAttrs and WithGroup gathered
}

// sink is what a handler and all that were derived from it have in common.
type sink struct {
	events   [ranges]*uevents.Event
	level    slog.Leveler
	source   bool
	provider *uevents.Provider // to be closed; nil if borrowed
}

// New registers the events of a handler called name, which must be a valid beginning of an
// event's name: letters, digits and underscores.
//
// The handler returned is never nil. With an error it works and is never enabled, in whole or
// for some levels; the error says what is missing and what to do about it, see package
// uevents.
func New(name string, o *Options) (*Handler, error) {
	if o == nil {
		o = &Options{}
	}
	s := &sink{level: o.Level, source: o.AddSource}
	p := o.Provider
	if p == nil {
		p, _ = uevents.Open(nil) // the error stays with the provider
		s.provider = p
	}
	var errs []error
	for r := range s.events {
		ev, err := p.Register(declaration(name, levelRange(r)), nil)
		s.events[r] = ev
		errs = append(errs, err)
	}
	err := p.Err() // which the errors of its events repeat
	if err == nil {
		err = errors.Join(errs...)
	}
	if err != nil {
		err = fmt.Errorf("sloghandler %q: %w", name, err)
	}
	return &Handler{sink: s}, err
}

// Enabled reports whether anybody traces the level's event.
func (h *Handler) Enabled(_ context.Context, level slog.Level) bool {
	return h.events[rangeOf(level)].Enabled() && (h.level == nil || level >= h.level.Level())
}

// Handle writes a record if anybody traces its level, with one system call. Its error is one of
// the kernel's; that nobody traces, or that the handler was closed, is none.
func (h *Handler) Handle(_ context.Context, r slog.Record) error {
	ev := h.events[rangeOf(r.Level)]
	if !ev.Enabled() {
		return nil // slog's wrappers ask late, or not at all
	}
	err := h.write(ev, &r)
	if errors.Is(err, uevents.ErrNotTraced) || errors.Is(err, uevents.ErrClosed) {
		return nil
	}
	return err
}

// WithAttrs returns a handler whose records have the attributes too. They are encoded once.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	return &Handler{sink: h.sink, attrs: h.attrs.WithAttrs(attrs, uevents.MaxPayload)}
}

// WithGroup returns a handler that puts the attributes that follow into a group.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &Handler{sink: h.sink, attrs: h.attrs.WithGroup(name)}
}

// Close unregisters the events, for all handlers derived from the same New. Afterwards they
// are never enabled. It may be called at any time and more than once.
func (h *Handler) Close() error {
	var errs []error
	for _, ev := range h.events {
		errs = append(errs, ev.Close())
	}
	if h.provider != nil {
		errs = append(errs, h.provider.Close())
	}
	return errors.Join(errs...)
}

// Stats returns the counts of each event, by its name.
func (h *Handler) Stats() map[string]uevents.EventStats {
	stats := make(map[string]uevents.EventStats, ranges)
	for _, ev := range h.events {
		stats[ev.Name()] = ev.Stats()
	}
	return stats
}
