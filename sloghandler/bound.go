package sloghandler

import (
	"encoding/json"
	"log/slog"
	"reflect"
	"slices"
	"strconv"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/text"
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
	return h.bind()
}

// bind makes what h adds to records, and on the way what those handlers add that h was derived from: each has a part
// of the same memory, and none needs its parent any more.
func (h *Handler) bind() *bound {
	before, chain := h.unbound()
	b := *before
	for _, at := range slices.Backward(chain) {
		at.extend(&b, before)
		ready := b
		ready.prefix, ready.groups = b.prefix.Clip(), slices.Clip(b.groups)
		at.ready.Store(&ready)
		at.parent.Store(nil)
		before = &ready
	}
	return before
}

// unbound returns h and the handlers that it was derived from, as far as they are not bound, h first, and what the
// next one adds.
func (h *Handler) unbound() (before *bound, chain []*Handler) {
	for at := h; ; {
		parent := at.parent.Load()
		if ready := at.ready.Load(); ready != nil {
			return ready, chain
		}
		chain = append(chain, at)
		if parent == nil {
			return &bound{prefix: attrjson.Prefix{Duplicates: h.duplicates}}, chain
		}
		at = parent
	}
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
		b.groups = append(b.groups, h.group)
	} else {
		b.prefix = b.prefix.WithAttrs(h.attrs, h.limit)
	}
}

// openGroup is a group that attributes are in.
type openGroup struct {
	name   string
	around *openGroup
}

// names returns the names of a group and those around it, the outermost first.
func (g *openGroup) names() (names []string) {
	for ; g != nil; g = g.around {
		names = append(names, g.name)
	}
	slices.Reverse(names)
	return names
}

// freeze returns a copy of attributes as they are now: resolved, replaced, and without references to what the program may change.
func (h *Handler) freeze(attrs []slog.Attr) (frozen []slog.Attr, dropped int) {
	s := settler{replace: h.replace, freeze: true}
	if h.replace != nil {
		s.groups = h.open.names()
	}
	return s.list(attrs), s.dropped // slog.MultiHandler hands the same slice to other handlers
}

// changes reports whether the program may change what is written of a value. That of a type such as slog.Level stays.
func changes(v any) bool {
	if v == nil {
		return false
	}
	kind := reflect.TypeOf(v).Kind()
	return kind > reflect.Complex128 && kind != reflect.String
}

// frozenValue returns a value that is written as v is now, and how many values in it were dropped since they are too
// deep. It is of a plain kind if one is written the same, and else JSON.
func frozenValue(v any) (frozen slog.Value, dropped int) {
	if err, ok := v.(error); ok {
		if _, ok := v.(json.Marshaler); !ok {
			return slog.StringValue(attrjson.ErrorText(err)), 0
		}
	}
	buf := bufpool.Get()
	w := attrjson.Begin(*buf, attrjson.NoLimit)
	w.Key("")
	w.Any(v)
	object, dropped := w.End(attrjson.KeepAll)
	frozen = plainValue(object[len(`{"":`) : len(object)-len(`}`)])
	*buf = object
	bufpool.Put(buf)
	return frozen, dropped
}

// plainValue returns JSON as a value of a plain kind, if that is written the same.
func plainValue(raw []byte) slog.Value {
	switch raw[0] {
	case '{', '[':
	case 'n':
		return slog.AnyValue(nil)
	case 't', 'f':
		return slog.BoolValue(raw[0] == 't')
	case '"':
		var quoted string
		if json.Unmarshal(raw, &quoted) == nil {
			return slog.StringValue(text.UnescapeJSON(quoted))
		}
	default:
		token := string(raw)
		if i, err := strconv.ParseInt(token, 10, 64); err == nil && token != "-0" {
			return slog.Int64Value(i)
		}
		if u, err := strconv.ParseUint(token, 10, 64); err == nil {
			return slog.Uint64Value(u)
		}
		if f, err := strconv.ParseFloat(token, 64); err == nil && (string(attrjson.AppendFloat(nil, f)) == token || string(text.AppendFloat(nil, f, 64)) == token) {
			return slog.Float64Value(f)
		}
	}
	return slog.AnyValue(json.RawMessage(slices.Clone(raw)))
}
