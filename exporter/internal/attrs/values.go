// Package attrs writes OpenTelemetry's attributes in the formats of package encode.
package attrs

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/internal/attrjson"
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
		eventheader.Ints(e, name, v.AsInt64Slice())
	case attribute.BOOLSLICE:
		e.Bools(name, v.AsBoolSlice())
	case attribute.FLOAT64SLICE:
		eventheader.Floats(e, name, v.AsFloat64Slice())
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
