package attrs

import (
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
)

// DepthLimit is the SDK's default limit of the depth of values.
const DepthLimit = 64

// MaxDepth is the depth of lists and maps that functions of this package follow, whatever the limits are. Each level
// takes stack, and a stack that grows above the runtime's limit ends the program. No record has room for more levels.
const MaxDepth = 1000

// Nested returns a value whose lists and maps have at most this depth, all deeper ones being empty values, and whose
// maps have the last value of each key, as the SDK makes them. A negative or larger depth is [MaxDepth]. changed is
// false if the value is that already. Lists and maps allocate.
func Nested(v attribute.Value, depth int) (out attribute.Value, changed bool) {
	if depth < 0 || depth > MaxDepth {
		depth = MaxDepth
	}
	return nested(v, depth)
}

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

// Shortened returns a value whose texts have at most limit characters, and whose lists of bytes have at most limit
// bytes, as the SDK cuts them. changed is false if the value is that already. Call [Nested] first, which limits the
// depth.
func Shortened(v attribute.Value, limit int) (out attribute.Value, changed bool) {
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
		return mapped(v, func(v attribute.Value) (attribute.Value, bool) { return Shortened(v, limit) })
	default:
	}
	return v, false
}

// Bounded returns a value whose lists and maps are not deeper than [MaxDepth]: the same one if it can be. The compiler
// inlines the case of scalars.
func Bounded(v attribute.Value) attribute.Value {
	if t := v.Type(); t == attribute.SLICE || t == attribute.MAP {
		return bounded(v)
	}
	return v
}

func bounded(v attribute.Value) attribute.Value {
	if isDeeper(v, MaxDepth) {
		v, _ = Nested(v, MaxDepth)
	}
	return v
}

// isDeeper reports whether lists and maps of a value have a larger depth.
func isDeeper(v attribute.Value, depth int) bool {
	t := v.Type()
	if t != attribute.SLICE && t != attribute.MAP {
		return false
	}
	if depth == 0 {
		return true
	}
	for _, element := range v.AsSlice() {
		if isDeeper(element, depth-1) {
			return true
		}
	}
	for _, member := range v.AsMap() {
		if isDeeper(member.Value, depth-1) {
			return true
		}
	}
	return false
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
	if limit == 0 {
		return ""
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
