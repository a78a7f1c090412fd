package sloghandler

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/eventset"
	"github.com/userevents/userevents-go/uevents"
)

// Handler is a [slog.Handler] that writes records as user events. Handlers come from [New]
// and from methods of other handlers; nil and the zero value are not usable. Methods may be called
// concurrently, also during and after Close.
type Handler struct {
	*sink

	// What a handler adds to the one that it was derived from: a group or attributes. A
	// list of these costs less to extend than a copy of everything so far, and siblings
	// have nothing in common that one of them could change.
	parent atomic.Pointer[Handler] // nil as soon as ready is set
	group  string
	attrs  []slog.Attr // resolved, replaced and frozen

	dropped int // values that were dropped when the attributes were frozen

	ready atomic.Pointer[bound]
}

// sink is what a handler and all that were derived from it have in common. It does not change after New.
type sink struct {
	set *eventset.Set

	// Enabled asks first whether any event is enabled, and then whether one of the range of levels is.
	all     *uevents.Group
	groups  [ranges]*uevents.Group // an event is in those of all levels that its records may have
	least   *slog.LevelVar
	leveler slog.Leveler // asked by Handle; nil if least says it

	levels   [ranges]*output
	declared map[string]*declaredOutput // by message; nil if there are none
	few      [4]*declaredOutput         // the same, if there are not more
	index    index                      // of all declarations

	replace      func([]string, slog.Attr) slog.Attr
	traceContext func(context.Context) ([16]byte, [8]byte)
	fromContext  []func(context.Context) []slog.Attr
	duplicates   attrjson.Duplicates
	asks         bool // a context is asked for ids or attributes
	limit        int  // of payloads
	sources      *sources
}

// New registers the events of a handler. Their names begin with name, usually the program's: 1 to 64 ASCII letters, digits and
// underscores, the first of which is no digit. A name that ends in _log, such as myapp_log, has the events of package ueventslog
// with the name myapp: whichever of the two comes second gets [uevents.ErrConflict].
//
// The handler returned is never nil. With an error it works: after a negative MaxPayload or a nil *slog.LevelVar
// with the default in its place, and else without the events that could not be registered. The error
// names invalid arguments, on every machine, and wraps [fs.ErrInvalid], and for the name and for declarations
// [tracepoint.ErrInvalid], too; if the arguments are valid, it is that
// of [uevents.Open] or [uevents.Provider.Register] and says what is missing and what to do. The records of a [Declaration] whose event
// could not be registered are written to their level's event only.
func New(name string, o *Options) (*Handler, error) {
	if o == nil {
		o = &Options{}
	}
	s := &sink{
		set:          eventset.Open("sloghandler", name, eventset.Options{Provider: o.Provider, MaxPayload: o.MaxPayload}),
		replace:      o.ReplaceAttr,
		traceContext: o.TraceContext,
		fromContext:  slices.Clone(o.AttrFromContext),
	}
	if o.UniqueKeys {
		s.duplicates = attrjson.KeepLast
	}
	s.all, s.limit = s.set.All, s.set.Limit
	s.asks = s.traceContext != nil || len(s.fromContext) > 0
	var ok bool
	if s.least, s.leveler, ok = minimum(o.Level); !ok {
		s.set.Invalid(errors.New("the option Level is a nil *slog.LevelVar: leave it out for all levels"))
	}
	if o.AddSource {
		s.sources = new(sources)
	}
	s.registerLevels()
	s.registerDeclarations(o.Declarations, o.Naming)
	return &Handler{sink: s}, s.set.Err()
}

// Enabled reports whether a tracing tool is attached to the events of the level: to the level's own one, or to that of
// a [Declaration] with this level. It also asks for the least level of the options, unless that is a Leveler of the program's.
func (h *Handler) Enabled(_ context.Context, level slog.Level) bool {
	// Nothing here is a call, so the function needs no stack, which would be most of its cost.
	if !h.all.Enabled() {
		return false
	}
	return h.groups[rangeOf(level)%ranges].Enabled() && level >= h.least.Level()
}

// Handle writes a record to its level's event and to the event of its [Declaration], as far as they are enabled, with one system
// call each. Its error is the kernel's. Disabled events and a closed handler are no error.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	return h.handle(ctx, &r, nil, nil)
}

// WithAttrs returns a handler whose records have the attributes too.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	attrs, dropped := h.freeze(attrs)
	return h.derive(&Handler{attrs: attrs, dropped: h.dropped + dropped})
}

// WithGroup returns a handler that puts the attributes that follow into a group.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return h.derive(&Handler{group: name, dropped: h.dropped})
}

func (h *Handler) derive(child *Handler) *Handler {
	child.sink = h.sink
	child.parent.Store(h)
	return child
}

// Close unregisters the events, for all handlers derived from the same New. Afterwards they
// are never enabled. It may be called at any time and more than once.
func (h *Handler) Close() error { return h.set.Close() }

// Stats returns the counts of each event, by its name, for all handlers derived from the same New.
func (h *Handler) Stats() map[string]uevents.EventStats { return h.set.Stats() }
