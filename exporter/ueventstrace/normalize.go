package ueventstrace

import (
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// normalizeAttribute gives an attribute of a span the form that the SDK gives it: texts of limited length, maps of limited
// depth without duplicate keys.
func normalizeAttribute(a *attribute.KeyValue, limits *sdktrace.SpanLimits) {
	if t := a.Value.Type(); t == attribute.SLICE || t == attribute.MAP {
		a.Value, _ = nested(a.Value, limits.AttributeValueDepthLimit)
	}
	if length := limits.AttributeValueLengthLimit; length >= 0 {
		a.Value, _ = shortened(a.Value, length)
	}
}

// isNormal reports whether an attribute certainly has that form. Most have.
func isNormal(a *attribute.KeyValue, limits *sdktrace.SpanLimits) bool {
	t := a.Value.Type()
	return t != attribute.SLICE && t != attribute.MAP && limits.AttributeValueLengthLimit < 0
}

// normalizeNested gives attributes of events, links and scopes the form that the SDK gives them: it limits the depth of
// maps and removes their duplicate keys.
func normalizeNested(list []attribute.KeyValue, depth int) {
	for i := range list {
		list[i].Value, _ = nested(list[i].Value, depth)
	}
}

// nested returns a value whose lists and maps have at most this depth, all deeper ones being empty values, and whose maps
// have the last value of each key. A negative depth is no limit. changed is false if the value is that already.
func nested(v attribute.Value, depth int) (out attribute.Value, changed bool) {
	switch v.Type() {
	case attribute.BOOLSLICE, attribute.INT64SLICE, attribute.FLOAT64SLICE, attribute.STRINGSLICE, attribute.BYTESLICE:
		if depth == 0 {
			return attribute.Value{}, true
		}
	case attribute.SLICE, attribute.MAP:
		if depth == 0 {
			return attribute.Value{}, true
		}
		return mapped(v, func(v attribute.Value) (attribute.Value, bool) { return nested(v, depth-1) })
	default:
	}
	return v, false
}

// shortened returns a value whose texts have at most limit characters, or bytes.
func shortened(v attribute.Value, limit int) (out attribute.Value, changed bool) {
	switch v.Type() {
	case attribute.STRING:
		s := v.AsString()
		if short := shortText(s, limit); len(short) < len(s) {
			return attribute.StringValue(short), true
		}
	case attribute.BYTESLICE:
		if b := v.AsByteSlice(); len(b) > limit {
			return attribute.ByteSliceValue(b[:limit]), true
		}
	case attribute.STRINGSLICE:
		list := v.AsStringSlice()
		for i, s := range list {
			list[i] = shortText(s, limit)
			changed = changed || len(list[i]) < len(s)
		}
		if changed {
			return attribute.StringSliceValue(list), true
		}
	case attribute.SLICE, attribute.MAP:
		return mapped(v, func(v attribute.Value) (attribute.Value, bool) { return shortened(v, limit) })
	default:
	}
	return v, false
}

// mapped returns a list or a map with the values that f returns for its own. Of several values of a key, a map has the
// last.
func mapped(v attribute.Value, f func(attribute.Value) (attribute.Value, bool)) (out attribute.Value, changed bool) {
	if v.Type() == attribute.SLICE {
		list := v.AsSlice()
		for i := range list {
			var c bool
			list[i], c = f(list[i])
			changed = changed || c
		}
		if !changed {
			return v, false
		}
		return attribute.SliceValue(list...), true
	}
	members := v.AsMap() // in the order of their keys, those of one key in the order in which they were given
	kept := members[:0]
	for i, m := range members {
		if i+1 < len(members) && members[i+1].Key == m.Key {
			changed = true
			continue
		}
		var c bool
		m.Value, c = f(m.Value)
		changed = changed || c
		kept = append(kept, m)
	}
	if !changed {
		return v, false
	}
	return attribute.MapValue(kept...), true
}

// shortText returns a text of at most limit characters. As in the SDK, a text that has no more bytes than that is not
// changed, and a longer one loses its invalid bytes first.
func shortText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "")
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i]
		}
		n++
	}
	return s
}
