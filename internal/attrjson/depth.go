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

// isTooDeep reports whether a value is nested deeper than that. It is false for a value that contains itself, which
// encoding/json detects. Only values of recursive types, and of types with interfaces, are walked.
func isTooDeep(v any) bool {
	path := map[uintptr]bool{}
	return exceeds(reflect.ValueOf(v), maxDepth, path) && !path[0]
}

// exceeds reports whether a value has more than depth levels. If so, it adds the pointers on the way to the deepest level to
// path, and 0 if it meets one of them twice.
func exceeds(v reflect.Value, depth int, path map[uintptr]bool) bool {
	if !v.IsValid() || !mayBeDeep(v.Type()) {
		return false
	}
	if depth == 0 {
		return true
	}
	switch v.Kind() {
	case reflect.Interface:
		return exceeds(v.Elem(), depth-1, path)
	case reflect.Pointer:
		return exceeds(v.Elem(), depth-1, path) && visited(v, path)
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if exceeds(v.Index(i), depth-1, path) {
				return v.Kind() == reflect.Array || visited(v, path)
			}
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			if exceeds(i.Value(), depth-1, path) {
				return visited(v, path)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if isEncoded(v.Type().Field(i)) && exceeds(v.Field(i), depth-1, path) {
				return true
			}
		}
	default:
	}
	return false
}

// visited adds a pointer to a path, and 0 if the path has it already. It returns true.
func visited(v reflect.Value, path map[uintptr]bool) bool {
	if p := v.Pointer(); path[p] {
		path[0] = true
	} else {
		path[p] = true
	}
	return true
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
		for i := range t.NumField() {
			if f := t.Field(i); isEncoded(f) && isUnlimited(f.Type, outer) {
				return true
			}
		}
	default:
	}
	return false
}
