package attrjson

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"
)

// maxDepth limits how deep pointers, interfaces, slices, maps and structs are nested in values for encoding/json, which recurses
// into each: a stack above the runtime's limit ends the program.
const maxDepth = 10_000

// isDeeper reports whether a value has more than so many levels, as one that contains itself has. Only values of recursive
// types, and of types with interfaces, are walked.
func isDeeper(v reflect.Value, levels int) bool {
	switch {
	case !v.IsValid() || !mayBeDeep(v.Type()):
		return false
	case levels == 0:
		return true
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		return isDeeper(v.Elem(), levels-1)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if isDeeper(v.Index(i), levels-1) {
				return true
			}
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			if isDeeper(i.Value(), levels-1) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if isEncoded(v.Type().Field(i)) && isDeeper(v.Field(i), levels-1) {
				return true
			}
		}
	default:
	}
	return false
}

// isEncoded reports whether encoding/json may write a field.
func isEncoded(f reflect.StructField) bool {
	return (f.IsExported() || f.Anonymous) && f.Tag.Get("json") != "-"
}

var deepTypes sync.Map // of types, whether their values may be deep

// mayBeDeep reports whether no type limits the depth of values of a type.
func mayBeDeep(t reflect.Type) bool {
	if deep, ok := deepTypes.Load(t); ok {
		return deep.(bool)
	}
	deep := isUnlimited(t, map[reflect.Type]bool{})
	deepTypes.Store(t, deep)
	return deep
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// isUnlimited reports whether a type is an interface, or contains one or itself. outer are the types that contain it.
func isUnlimited(t reflect.Type, outer map[reflect.Type]bool) bool {
	if t.Kind() == reflect.Interface || outer[t] {
		return true
	}
	if p := reflect.PointerTo(t); p.Implements(marshaler) || p.Implements(textMarshaler) {
		return false // the program's method encodes it
	}
	outer[t] = true
	defer delete(outer, t)
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return isUnlimited(t.Elem(), outer)
	case reflect.Struct:
		for f := range t.Fields() {
			if isEncoded(f) && isUnlimited(f.Type, outer) {
				return true
			}
		}
	default:
	}
	return false
}
