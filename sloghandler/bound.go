package sloghandler

import (
	"log/slog"
	"slices"

	"github.com/userevents/userevents-go/internal/attrjson"
)

// bound is what a handler adds to records, in a form that is ready to be used. It is made
// when a record needs it: most loggers that a program derives for a request never see a
// tracing tool. It does not change.
type bound struct {
	prefix attrjson.Prefix // all of it as JSON
	groups []string        // that are open, the outermost first

	// The attributes themselves, from the first on that a declared record may have as a field, and what is before it.
	steps  *step // the last one; nil if there is no such attribute
	before *bound
}

// step is what one handler adds: a group that it opens, or attributes. A list of them takes no more memory than the handlers.
type step struct {
	before *step
	group  string // or "" with attributes
	attrs  []slog.Attr
}

// bound returns what h adds to records.
func (h *Handler) bound() *bound {
	if b := h.ready.Load(); b != nil {
		return b
	}
	return h.bind(true)
}

// bind makes what h adds to records. It is kept for h itself, which does not need its parent any more, and for the handlers
// that h was derived from as long as it is short: a program that derives each logger from the last one would keep
// memory by the square of their number.
func (h *Handler) bind(keep bool) *bound {
	b := new(bound)
	if parent := h.parent.Load(); parent != nil {
		before := parent.ready.Load()
		if before == nil {
			before = parent.bind(false)
		}
		*b = *before
		h.extend(b, before)
	} else if ready := h.ready.Load(); ready != nil { // by another call, which has released the parent
		return ready
	} else {
		b.prefix.Duplicates = h.duplicates
	}
	if keep || b.prefix.Len() <= h.limit {
		h.ready.Store(b)
		h.parent.Store(nil)
	}
	return b
}

// extend adds to b what h adds to its parent's records, which is before.
func (h *Handler) extend(b, before *bound) {
	// With UniqueKeys, it may be a duplicate of what such a record has as a field.
	if b.steps == nil && h.declared != nil && (h.duplicates == attrjson.KeepLast || h.index.has(h.attrs, b.groups)) {
		b.before = before
	}
	if b.before != nil {
		b.steps = &step{b.steps, h.group, h.attrs}
	}
	if h.group != "" {
		b.prefix = b.prefix.WithGroup(h.group)
		b.groups = append(slices.Clip(b.groups), h.group)
	} else {
		b.prefix = b.prefix.WithAttrs(h.attrs, h.limit)
	}
}

// openGroups returns the names of the groups that are open, the outermost first.
func (h *Handler) openGroups() []string {
	if b := h.ready.Load(); b != nil {
		return b.groups
	}
	parent := h.parent.Load()
	if parent == nil {
		if b := h.ready.Load(); b != nil { // bound meanwhile
			return b.groups
		}
		return nil
	}
	groups := parent.openGroups()
	if h.group != "" {
		groups = append(slices.Clip(groups), h.group)
	}
	return groups
}
