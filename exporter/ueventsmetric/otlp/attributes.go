package otlp

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
)

// Field numbers of opentelemetry.proto.common.v1, in the order of the messages.
const (
	keyValueKey   = 1
	keyValueValue = 2

	valueString = 1
	valueBool   = 2
	valueInt    = 3
	valueDouble = 4
	valueArray  = 5
	valueMap    = 6
	valueBytes  = 7

	listValues = 1 // of arrays and maps

	scopeName       = 1
	scopeVersion    = 2
	scopeAttributes = 3 // and the next one is how many were dropped, as in a resource
)

// keyValue writes an attribute.
func (w *wire) keyValue(field byte, kv attribute.KeyValue) {
	if w.full() {
		return
	}
	at := w.message(field)
	w.text(keyValueKey, string(kv.Key))
	w.value(keyValueValue, kv.Value)
	w.close(at)
}

// value writes a value. Lists and maps allocate.
func (w *wire) value(field byte, v attribute.Value) {
	if w.full() {
		return
	}
	at := w.message(field)
	switch v.Type() {
	case attribute.STRING:
		// OpenTelemetry's mapping to OTLP has bytes for a string that is not UTF-8.
		if s := v.AsString(); utf8.ValidString(s) {
			putBytes(w, valueString, s)
		} else {
			putBytes(w, valueBytes, s)
		}
	case attribute.INT64:
		w.putUvarint(valueInt, uint64(v.AsInt64()))
	case attribute.BOOL:
		w.putUvarint(valueBool, bit(v.AsBool()))
	case attribute.FLOAT64:
		w.putDouble(valueDouble, v.AsFloat64())
	case attribute.BYTESLICE:
		putBytes(w, valueBytes, v.AsByteSlice())
	case attribute.STRINGSLICE:
		array(w, v.AsStringSlice(), attribute.StringValue)
	case attribute.INT64SLICE:
		array(w, v.AsInt64Slice(), attribute.Int64Value)
	case attribute.BOOLSLICE:
		array(w, v.AsBoolSlice(), attribute.BoolValue)
	case attribute.FLOAT64SLICE:
		array(w, v.AsFloat64Slice(), attribute.Float64Value)
	case attribute.SLICE:
		array(w, v.AsSlice(), func(v attribute.Value) attribute.Value { return v })
	case attribute.MAP:
		list := w.message(valueMap)
		for _, kv := range v.AsMap() {
			w.keyValue(listValues, kv)
		}
		w.close(list)
	case attribute.EMPTY:
	}
	w.close(at)
}

// array writes the elements of a list.
func array[T any](w *wire, elements []T, value func(T) attribute.Value) {
	list := w.message(valueArray)
	for _, v := range elements {
		w.value(listValues, value(v))
	}
	w.close(list)
}

// bit returns a boolean as protobuf has it.
func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// origin writes a resource, which has neither name nor version, or a scope, with the URL of its schema. Its attributes,
// a field with this number, drop the largest ones if it would take more than max bytes: those that say what is
// what, such as service.name, are short. OTLP has a field for how many are missing, the next one.
func (w *wire) origin(name, version string, attributes byte, set *attribute.Set, schemaURL string, max int) {
	w.originWith(name, version, attributes, set.Iter(), 0, schemaURL)
	if len(w.buf) <= max {
		return
	}
	w.buf = w.buf[:0]
	w.originWith(name, version, attributes, attribute.Iterator{}, set.Len(), schemaURL)
	kept := fit(set.ToSlice(), attributes, max-len(w.buf)-maxLengthSize, 0)
	w.buf = w.buf[:0]
	few := attribute.NewSet(kept...)
	w.originWith(name, version, attributes, few.Iter(), set.Len()-len(kept), schemaURL)
}

func (w *wire) originWith(name, version string, attributes byte, list attribute.Iterator, dropped int, schemaURL string) {
	at := w.message(1)
	w.text(scopeName, name)
	w.text(scopeVersion, version)
	for list.Next() && !w.full() {
		w.keyValue(attributes, list.Attribute())
	}
	w.uvarint(attributes+1, uint64(dropped))
	w.close(at)
	w.text(3, schemaURL)
}

// fit returns the attributes that take room bytes together, as fields with this number. It drops the largest ones,
// and none of up to spare bytes.
func fit(list []attribute.KeyValue, field byte, room, spare int) (kept []attribute.KeyValue) {
	type sized struct{ index, size int }
	all, total := make([]sized, len(list)), 0
	scratch := wire{limit: max(room, spare)} // an attribute that is larger than that is not kept, however large it is
	for i, kv := range list {
		scratch.buf = scratch.buf[:0]
		scratch.keyValue(field, kv)
		all[i] = sized{i, len(scratch.buf)}
		total += all[i].size
	}
	slices.SortFunc(all, func(a, b sized) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(b.index, a.index)) })
	for len(all) > 0 && total > room && all[0].size > spare {
		total -= all[0].size
		all = all[1:]
	}
	slices.SortFunc(all, func(a, b sized) int { return cmp.Compare(a.index, b.index) })
	for _, a := range all {
		kept = append(kept, list[a.index])
	}
	return kept
}
