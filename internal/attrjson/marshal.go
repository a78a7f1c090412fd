package attrjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"sync"

	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/internal/panictext"
)

// maxPooled is the size from which a buffer is left to the garbage collector. One huge
// value shall not stay in memory for good.
const maxPooled = 16 << 10

// encoder encodes values by encoding/json.
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

// marshal writes v as an error's text or as encoding/json does.
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
