// Package attrs writes OpenTelemetry's attributes in the formats of package encode.
package attrs

import (
	"reflect"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/eventheader"
)

// WriteJSON writes an attribute as a member of an object, in OpenTelemetry's representation of values outside of OTLP.
// Lists and maps deeper than [MaxDepth] become empty values. Lists and maps allocate.
func WriteJSON(w *attrjson.Writer, kv *attribute.KeyValue) {
	w.Key(string(kv.Key))
	switch v := &kv.Value; v.Type() { // the most frequent types
	case attribute.STRING:
		w.String(v.AsString())
	case attribute.INT64:
		w.Int(v.AsInt64())
	default:
		writeValue(w, v, MaxDepth)
	}
}

// WriteMember is [WriteJSON] for a record that may write members with reserved keys after its attributes. An attribute
// with such a key sets duplicates to KeepLast, so that the record keeps only its own member.
func WriteMember(w *attrjson.Writer, kv *attribute.KeyValue, duplicates *attrjson.Duplicates) {
	if IsReserved(kv.Key) {
		*duplicates = attrjson.KeepLast
	}
	WriteJSON(w, kv)
}

func writeValue(w *attrjson.Writer, v *attribute.Value, depth int) {
	switch v.Type() {
	case attribute.STRING:
		w.String(v.AsString())
	case attribute.INT64:
		w.Int(v.AsInt64())
	case attribute.BOOL:
		w.Bool(v.AsBool())
	case attribute.FLOAT64:
		w.Float(v.AsFloat64())
	case attribute.EMPTY:
		w.Null()
	case attribute.BYTESLICE:
		w.Bytes(v.AsByteSlice())
	default:
		writeNested(w, v, depth)
	}
}

// writeNested writes a list or a map of up to this depth.
func writeNested(w *attrjson.Writer, v *attribute.Value, depth int) {
	if depth == 0 {
		w.Null()
		return
	}
	if v.Type() != attribute.MAP {
		writeList(w, v, depth)
		return
	}
	object := w.Object()
	members := v.AsMap()
	for i := range members {
		w.Key(string(members[i].Key))
		writeValue(w, &members[i].Value, depth-1)
	}
	w.Close(object)
}

// writeList writes lists. It takes no function for elements: one would make the Writer escape to the heap.
func writeList(w *attrjson.Writer, v *attribute.Value, depth int) {
	list := w.Array()
	for _, v := range v.AsStringSlice() {
		w.String(v)
	}
	for _, v := range v.AsInt64Slice() {
		w.Int(v)
	}
	for _, v := range v.AsBoolSlice() {
		w.Bool(v)
	}
	for _, v := range v.AsFloat64Slice() {
		w.Float(v)
	}
	values := v.AsSlice()
	for i := range values {
		writeValue(w, &values[i], depth-1)
	}
	w.Close(list)
}

// Text returns OpenTelemetry's representation of a value outside of OTLP. Lists and maps deeper than [MaxDepth] become
// empty values.
func Text(v attribute.Value) string { return TextOfBounded(Bounded(v)) }

// TextOfBounded is [Text] for a value from [Bounded] or [Nested].
func TextOfBounded(v attribute.Value) string {
	if v.Type() == attribute.STRING {
		return v.AsString()
	}
	return v.String()
}

// WriteField writes an attribute as a field. A value without a type in the format, such as a list of several types,
// becomes a JSON text. Lists and maps deeper than [MaxDepth] become empty values.
func WriteField(e *eventheader.Encoder, kv attribute.KeyValue) {
	name, v := string(kv.Key), kv.Value
	switch v.Type() {
	case attribute.STRING:
		e.String(name, v.AsString())
	case attribute.INT64:
		e.Int64(name, v.AsInt64())
	case attribute.BOOL:
		e.Bool(name, v.AsBool())
	case attribute.FLOAT64:
		e.Float64(name, v.AsFloat64())
	case attribute.EMPTY:
		e.Null(name)
	case attribute.BYTESLICE:
		e.Bytes(name, v.AsByteSlice())
	case attribute.STRINGSLICE:
		e.Strings(name, v.AsStringSlice())
	case attribute.INT64SLICE:
		e.Ints(name, v.AsInt64Slice())
	case attribute.BOOLSLICE:
		e.Bools(name, v.AsBoolSlice())
	case attribute.FLOAT64SLICE:
		e.Floats(name, v.AsFloat64Slice())
	case attribute.MAP:
		writeStruct(e, name, v.AsMap(), MaxDepth)
	case attribute.SLICE:
		e.JSON(name, Text(v))
	default:
	}
}

// writeStruct writes a map of up to this depth.
func writeStruct(e *eventheader.Encoder, name string, members []attribute.KeyValue, depth int) {
	if len(members) == 0 { // the encoder would drop a struct
		e.JSON(name, "{}")
		return
	}
	e.BeginStruct(name)
	for _, kv := range members {
		switch {
		case kv.Value.Type() != attribute.MAP:
			WriteField(e, kv)
		case depth > 1:
			writeStruct(e, string(kv.Key), kv.Value.AsMap(), depth-1)
		default:
			WriteField(e, attribute.KeyValue{Key: kv.Key})
		}
	}
	e.EndStruct()
}

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

// TypeName returns the name of an error's type in the form of the SDK's exception.type.
func TypeName(err error) string {
	t := reflect.TypeOf(err)
	if t.PkgPath() == "" || t.Name() == "" {
		return t.String() // a pointer, for example
	}
	return t.PkgPath() + "." + t.Name()
}
