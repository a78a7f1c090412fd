package sloghandler

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/userevents/userevents-go/encode/attrjson"
)

// bound is what a handler adds to records, in a form that is ready to be used. It is made
// when a record needs it: most loggers that a program derives for a request never see a
// tracer.
type bound struct {
	prefix   attrjson.Prefix // all of it as JSON
	grouped  bool            // a group is open
	declared bool            // an attribute may have a field of its own in a declared record
}

// bound returns what h adds to records.
func (h *Handler) bound() *bound {
	if b := h.ready.Load(); b != nil {
		return b
	}
	var b bound
	if h.parent != nil {
		b = *h.parent.bound()
	}
	if h.group != "" {
		b.prefix = b.prefix.WithGroup(h.group)
		b.grouped = true
	} else {
		b.prefix = b.prefix.WithAttrs(h.attrs, h.limit)
		b.declared = b.declared || h.mayCapture(h.attrs)
	}
	h.ready.Store(&b)
	return &b
}

// mayCapture reports whether one of the attributes may be one that a record declares.
func (s *sink) mayCapture(attrs []slog.Attr) bool {
	return s.records != nil && slices.ContainsFunc(attrs, func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindGroup {
			return s.mayCapture(a.Value.Group())
		}
		return slices.ContainsFunc(s.keys, func(declared string) bool {
			return strings.HasSuffix(declared, a.Key)
		})
	})
}
