package sloghandler

import (
	"encoding/json"
	"log/slog"
	"strconv"

	"github.com/userevents/userevents-go/encode/attrjson"
)

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

// freeze returns the attributes as they are now, resolved and replaced. The program may
// change what a value refers to, once With has returned.
func (h *Handler) freeze(attrs []slog.Attr) []slog.Attr {
	f := freezer{replace: h.replace}
	if h.replace != nil {
		f.groups = h.openGroups(nil)
	}
	return f.attrs(attrs)
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
}

func (f *freezer) attrs(attrs []slog.Attr) []slog.Attr {
	frozen := make([]slog.Attr, 0, len(attrs))
	for _, a := range attrs {
		a = resolve(a, f.replace, f.groups)
		switch a.Value.Kind() {
		case slog.KindGroup:
			a.Value = slog.GroupValue(f.group(a.Key, a.Value.Group())...)
		case slog.KindAny:
			if !empty(a) {
				a.Value = frozenValue(a.Value.Any())
			}
		default:
		}
		frozen = append(frozen, a)
	}
	return frozen
}

func (f *freezer) group(name string, attrs []slog.Attr) []slog.Attr {
	if f.entered++; f.entered > maxEntered {
		return []slog.Attr{slog.String(panicKey, "groups without end")}
	}
	if name == "" {
		return f.attrs(attrs)
	}
	f.groups = append(f.groups, name)
	defer func() { f.groups = f.groups[:len(f.groups)-1] }()
	return f.attrs(attrs)
}

// frozenValue returns a value that is written as v is now. It is of a plain kind if one is
// written the same, and else JSON.
func frozenValue(v any) slog.Value {
	w := attrjson.Begin(nil, attrjson.NoLimit)
	w.Key("")
	w.Any(v)
	object, _ := w.End(attrjson.KeepAll)
	raw := object[len(`{"":`) : len(object)-len(`}`)]
	text := string(raw)
	switch {
	case text == "null":
		return slog.AnyValue(nil)
	case text == "true" || text == "false":
		return slog.BoolValue(text == "true")
	case text[0] == '"':
		if json.Unmarshal(raw, &text) == nil {
			return slog.StringValue(attrjson.Unescape(text))
		}
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil && text != "-0" {
		return slog.Int64Value(i)
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return slog.Uint64Value(u)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && string(attrjson.AppendFloat(nil, f)) == text {
		return slog.Float64Value(f)
	}
	return slog.AnyValue(json.RawMessage(raw))
}
