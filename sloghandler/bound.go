package sloghandler

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/panictext"
)

// bound is what a handler adds to records, in a form that is ready to be used. It is made
// when a record needs it: most loggers that a program derives for a request never see a
// tracing tool.
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
	return h.bind(true)
}

// bind makes what h adds to records. It keeps that for h itself, and for the handlers that h was derived from as long as
// it is short: a program that derives each logger from the last one would keep memory by the square of their number.
func (h *Handler) bind(keep bool) *bound {
	b := new(bound)
	if h.parent != nil {
		before := h.parent.ready.Load()
		if before == nil {
			before = h.parent.bind(false)
		}
		*b = *before
	} else {
		b.prefix.Duplicates = h.duplicates
	}
	if h.group != "" {
		b.prefix = b.prefix.WithGroup(h.group)
		b.grouped = true
	} else if len(h.attrs) > 0 {
		b.prefix = b.prefix.WithAttrs(h.attrs, h.limit)
		b.declared = b.declared || h.mayCapture(h.attrs)
	}
	if keep || b.prefix.Len() <= h.limit {
		h.ready.Store(b)
	}
	return b
}

// mayCapture reports whether one of the attributes may be one that a record declares.
func (s *sink) mayCapture(attrs []slog.Attr) bool {
	return s.declared != nil && slices.ContainsFunc(attrs, func(a slog.Attr) bool {
		if a.Value.Kind() == slog.KindGroup {
			return s.mayCapture(a.Value.Group())
		}
		return slices.ContainsFunc(s.keys, func(declared string) bool {
			return strings.HasSuffix(declared, a.Key)
		})
	})
}

// plain reports whether the attributes need no work and cannot change: they can be kept.
func plain(attrs []slog.Attr) bool {
	for i := range attrs {
		switch attrs[i].Value.Kind() {
		case slog.KindAny, slog.KindLogValuer:
			return false
		case slog.KindGroup:
			if !plain(attrs[i].Value.Group()) {
				return false
			}
		default:
		}
	}
	return true
}

// freeze returns the attributes as they are now: resolved and replaced. The program may change what a value refers to,
// once With has returned.
func (h *Handler) freeze(attrs []slog.Attr) (frozen []slog.Attr, dropped int) {
	f := freezer{replace: h.replace}
	if h.replace != nil {
		f.groups = h.openGroups(nil)
	}
	attrs = slices.Clone(attrs) // slog.MultiHandler hands the same slice to other handlers
	f.attrs(attrs)
	return attrs, f.dropped
}

// openGroups appends the names of the groups that are open, the outermost first.
func (h *Handler) openGroups(names []string) []string {
	if h.parent != nil {
		names = h.parent.openGroups(names)
	}
	if h.group != "" {
		names = append(names, h.group)
	}
	return names
}

type freezer struct {
	replace func([]string, slog.Attr) slog.Attr
	groups  []string
	entered int
	dropped int
}

func (f *freezer) attrs(attrs []slog.Attr) {
	for i, a := range attrs {
		a = resolve(a, f.replace, f.groups)
		switch a.Value.Kind() {
		case slog.KindGroup:
			a.Value = slog.GroupValue(f.group(a.Key, a.Value.Group())...)
		case slog.KindAny:
			if !empty(a) {
				var dropped int
				a.Value, dropped = frozenValue(a.Value.Any())
				f.dropped += dropped
			}
		default:
		}
		attrs[i] = a
	}
}

// group returns the attributes of a group, which belongs to the program.
func (f *freezer) group(name string, attrs []slog.Attr) []slog.Attr {
	if f.entered++; f.entered > maxEntered {
		return []slog.Attr{slog.String(panictext.Key, "groups without end")}
	}
	attrs = slices.Clone(attrs)
	if name == "" {
		f.attrs(attrs)
		return attrs
	}
	f.groups = append(f.groups, name)
	f.attrs(attrs)
	f.groups = f.groups[:len(f.groups)-1]
	return attrs
}

// frozenValue returns a value that is written as v is now, and how many values in it were dropped since they are too
// deep. It is of a plain kind if one is written the same, and else JSON.
func frozenValue(v any) (frozen slog.Value, dropped int) {
	if err, ok := v.(error); ok {
		if _, ok := v.(json.Marshaler); !ok {
			return slog.StringValue(attrjson.ErrorText(err)), 0
		}
	}
	if list, ok := cloneSlice(v); ok {
		return slog.AnyValue(list), 0
	}
	w := attrjson.Begin(nil, attrjson.NoLimit)
	w.Key("")
	w.Any(v)
	object, dropped := w.End(attrjson.KeepAll)
	raw := object[len(`{"":`) : len(object)-len(`}`)]
	token := string(raw)
	switch {
	case token == "null":
		return slog.AnyValue(nil), dropped
	case token == "true" || token == "false":
		return slog.BoolValue(token == "true"), dropped
	case token[0] == '"':
		if json.Unmarshal(raw, &token) == nil {
			return slog.StringValue(text.UnescapeJSON(token)), dropped
		}
	}
	if i, err := strconv.ParseInt(token, 10, 64); err == nil && token != "-0" {
		return slog.Int64Value(i), dropped
	}
	if u, err := strconv.ParseUint(token, 10, 64); err == nil {
		return slog.Uint64Value(u), dropped
	}
	if f, err := strconv.ParseFloat(token, 64); err == nil && string(attrjson.AppendFloat(nil, f)) == token {
		return slog.Float64Value(f), dropped
	}
	return slog.AnyValue(json.RawMessage(raw)), dropped
}
