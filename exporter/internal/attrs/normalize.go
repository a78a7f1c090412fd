package attrs

import (
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
)

// DepthLimit is the SDK's default depth limit of values.
const DepthLimit = 64

// MaxDepth limits the depth of lists and maps that functions of this package follow, beyond all other limits. Each
// level uses stack, and exceeding the runtime's maximum stack ends the program. No record has room for more levels.
const MaxDepth = 1000

// Nested limits the depth of a value as the SDK does: deeper lists and maps become empty values, and maps keep the last
// value of each key. A negative or larger depth means [MaxDepth]. changed is false if the value needs no change.
// Lists and maps allocate.
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

// Shortened cuts texts to limit characters and byte slices to limit bytes, as the SDK does. changed is false if nothing
// was cut. Call [Nested] first, which limits the depth.
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

// Bounded limits the depth of a value to [MaxDepth]. It returns v itself if possible. The compiler inlines the case of
// scalars.
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

// isDeeper reports whether lists and maps in a value exceed a depth.
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

// mapped applies f to each value of a list or a map. If a map has several values of a key, the last one counts.
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
	members := v.AsMap() // sorted by key; values of one key keep their order
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

// shortText cuts a text to limit characters. As in the SDK, a text of at most limit bytes is unchanged, and a longer
// one loses its invalid bytes first.
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
