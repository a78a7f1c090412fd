package attrjson

import (
	"maps"
	"slices"
	"time"
)

// Any writes a value of any type. The package comment says how each is written. A
// value that cannot be written becomes a text that begins with !ERROR: or, if one of its methods
// panics, with !PANIC:. The value's methods must not use the Writer.
func (w *Writer) Any(v any) {
	switch v := v.(type) {
	case nil:
		w.Null()
	case string:
		w.String(v)
	case bool:
		w.Bool(v)
	case int:
		w.Int(int64(v))
	case int8:
		w.Int(int64(v))
	case int16:
		w.Int(int64(v))
	case int32:
		w.Int(int64(v))
	case int64:
		w.Int(v)
	case uint:
		w.Uint(uint64(v))
	case uint8:
		w.Uint(uint64(v))
	case uint16:
		w.Uint(uint64(v))
	case uint32:
		w.Uint(uint64(v))
	case uint64:
		w.Uint(v)
	case float32:
		var b [32]byte
		w.put(appendFloat(b[:0], float64(v), 32))
	case float64:
		w.Float(v)
	case time.Duration:
		w.Duration(v)
	case time.Time:
		w.Time(v)
	case []byte:
		if v == nil {
			w.Null()
			return
		}
		w.Bytes(v)
	default:
		w.composite(v)
	}
}

// composite writes the slices and maps that are common in log records without
// reflection.
func (w *Writer) composite(v any) {
	switch v := v.(type) {
	case []string:
		if c, ok := w.enterContainer(array, '[', v == nil); ok {
			for i := 0; i < len(v) && !w.Full(c); i++ {
				w.String(v[i])
			}
			w.Close(c)
		}
	case []int:
		if c, ok := w.enterContainer(array, '[', v == nil); ok {
			for i := 0; i < len(v) && !w.Full(c); i++ {
				w.Int(int64(v[i]))
			}
			w.Close(c)
		}
	case []int64:
		if c, ok := w.enterContainer(array, '[', v == nil); ok {
			for i := 0; i < len(v) && !w.Full(c); i++ {
				w.Int(v[i])
			}
			w.Close(c)
		}
	case []float64:
		if c, ok := w.enterContainer(array, '[', v == nil); ok {
			for i := 0; i < len(v) && !w.Full(c); i++ {
				w.Float(v[i])
			}
			w.Close(c)
		}
	case []bool:
		if c, ok := w.enterContainer(array, '[', v == nil); ok {
			for i := 0; i < len(v) && !w.Full(c); i++ {
				w.Bool(v[i])
			}
			w.Close(c)
		}
	case []error:
		if c, ok := w.enterContainer(array, '[', v == nil); ok {
			for i := 0; i < len(v) && !w.Full(c); i++ {
				w.Any(v[i])
			}
			w.Close(c)
		}
	case []any:
		if c, ok := w.enterContainer(array, '[', v == nil); ok {
			for i := 0; i < len(v) && !w.Full(c); i++ {
				w.Any(v[i])
			}
			w.Close(c)
		}
	case map[string]string:
		var few [16]string
		if c, ok := w.enterContainer(object, '{', v == nil); ok {
			for _, k := range appendSortedKeys(few[:0], v) {
				w.Key(k)
				w.String(v[k])
			}
			w.Close(c)
		}
	case map[string]any:
		var few [16]string
		if c, ok := w.enterContainer(object, '{', v == nil); ok {
			for _, k := range appendSortedKeys(few[:0], v) {
				w.Key(k)
				w.Any(v[k])
			}
			w.Close(c)
		}
	default:
		w.marshal(v)
	}
}

// enterContainer opens the array for a slice, or the object for a map, unless that is nil or may not be walked into.
func (w *Writer) enterContainer(kind containerKind, bracket byte, null bool) (c Container, ok bool) {
	switch {
	case null:
		w.Null()
	case !w.enter():
		w.drop()
	default:
		return w.openContainer(kind, bracket), true
	}
	return c, false
}

func appendSortedKeys[V any](keys []string, m map[string]V) []string {
	keys = slices.AppendSeq(keys, maps.Keys(m))
	slices.Sort(keys)
	return keys
}
