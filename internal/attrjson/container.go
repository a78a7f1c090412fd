package attrjson

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/internal/panictext"
)

type containerKind uint8

const (
	object containerKind = iota
	array
	group
)

// Container is an open object, array or group. It is given to [Writer.Close];
// containers are closed in reverse order.
type Container struct {
	kind containerKind
	mark int // where the member begins
	most int // where an array is so long that the last elements cannot stay
}

// enough is how many times as long as what may be left of it an array gets: its texts are cut before its elements are
// dropped.
const enough = 16

// Object opens an object as the next value. It is written even if it gets no member.
func (w *Writer) Object() Container { return w.openContainer(object, '{') }

// Array opens an array as the next value.
func (w *Writer) Array() Container { return w.openContainer(array, '[') }

// Group opens an object as the next value, which is omitted together with its key if it
// gets no member. This is what log/slog demands of groups.
func (w *Writer) Group() Container { return w.openContainer(group, '{') }

func (w *Writer) openContainer(kind containerKind, bracket byte) Container {
	c := Container{kind: kind, mark: w.mark, most: math.MaxInt}
	if kind == array && w.limit != NoLimit {
		c.most = w.n + enough*(w.end()-w.n)
	}
	w.wrote(append(w.b[:w.n], bracket))
	return c
}

// Full reports whether an array is so long that further elements are going to be cut: there is no use in writing
// them.
func (w *Writer) Full(c Container) bool { return w.n > c.most }

// Close closes c, which must be the container that was opened last.
func (w *Writer) Close(c Container) {
	if c.kind == group && w.last() == '{' {
		w.n = c.mark
		return
	}
	bracket := byte('}')
	if c.kind == array {
		bracket = ']'
		if w.Full(c) {
			w.capped++
		}
	}
	buf := w.b[:w.n]
	if last := len(buf) - 1; buf[last] == ',' {
		buf[last] = bracket
	} else {
		buf = append(buf, bracket)
	}
	w.wrote(append(buf, ','))
}

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

// maxPooled is the size from which a buffer is left to the garbage collector. One huge
// value shall not stay in memory for good.
const maxPooled = 16 << 10

type encoder struct {
	out   bytes.Buffer
	clean []byte // out without characters that this package does not write
	json  *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.json = json.NewEncoder(&e.out)
	e.json.SetEscapeHTML(false)
	return e
}}

func (w *Writer) marshal(v any) {
	if err, ok := v.(error); ok {
		if _, ok := v.(json.Marshaler); !ok {
			w.String(ErrorText(err))
			return
		}
	}
	e := encoders.Get().(*encoder)
	problem := e.encode(v)
	if problem != "" {
		w.String(problem)
		return // e may have been left by a panic in any state
	}
	w.put(e.clean)
	if e.out.Cap() <= maxPooled && cap(e.clean) <= maxPooled {
		encoders.Put(e)
	}
}

// encode fills e.clean, or returns the text to write instead.
func (e *encoder) encode(v any) (problem string) {
	defer func() {
		if r := recover(); r != nil {
			problem = panicText(v, r)
		}
	}()
	if isTooDeep(v) {
		return fmt.Sprintf("!ERROR:%T has more than %d levels", v, maxDepth)
	}
	e.out.Reset()
	if err := e.json.Encode(v); err != nil {
		return "!ERROR:" + err.Error()
	}
	e.clean = chars.SanitizeJSON(e.clean[:0], bytes.TrimSuffix(e.out.Bytes(), []byte("\n")), math.MaxInt)
	return ""
}

// ErrorText returns the text of err as [Writer.Any] writes it: also if the method Error panics.
func ErrorText(err error) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = panicText(err, r)
		}
	}()
	return err.Error()
}

// panicText describes the panic of a method of v. A nil pointer in an
// interface is the common cause and is shown as what it is.
func panicText(v, r any) string {
	if v := reflect.ValueOf(v); v.Kind() == reflect.Pointer && v.IsNil() {
		return "<nil>"
	}
	return panictext.Of(r)
}
