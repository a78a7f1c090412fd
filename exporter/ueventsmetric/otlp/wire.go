package otlp

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/internal/truncate"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// wire writes protobuf. Methods append a field by its number, which is less than 16 for all that metrics need, so that tags have
// one byte. A method called put writes its value in any case; the others omit protobuf's default values. A message of more than
// limit bytes is not written to its end: it fits no event.
type wire struct {
	buf   []byte
	limit int // of buf
}

// Wire types of protobuf.
const (
	typeVarint  = 0
	typeFixed64 = 1
	typeBytes   = 2
)

func (w *wire) full() bool { return len(w.buf) > w.limit }

// message begins a message. It returns where its contents begin, which close takes.
func (w *wire) message(field byte) (at int) {
	w.buf = append(w.buf, field<<3|typeBytes, 0)
	return len(w.buf)
}

// close ends a message: it writes the length, which has one byte mostly. Others move the contents.
func (w *wire) close(at int) {
	n := len(w.buf) - at
	if n >= 1<<7 {
		more := lengthSize(n) - 1
		w.buf = append(w.buf, make([]byte, more)...)
		copy(w.buf[at+more:], w.buf[at:])
	}
	binary.PutUvarint(w.buf[at-1:], uint64(n))
}

// lengthSize returns how many bytes the length of a message takes.
func lengthSize(n int) int { return (bits.Len(uint(n|1)) + 6) / 7 }

func (w *wire) putUvarint(field byte, v uint64) {
	w.buf = binary.AppendUvarint(append(w.buf, field<<3|typeVarint), v)
}

func (w *wire) uvarint(field byte, v uint64) {
	if v != 0 {
		w.putUvarint(field, v)
	}
}

// zigzag writes a field of type sint32.
func (w *wire) zigzag(field byte, v int32) { w.uvarint(field, uint64(uint32(v<<1)^uint32(v>>31))) }

func (w *wire) putFixed64(field byte, v uint64) {
	w.buf = binary.LittleEndian.AppendUint64(append(w.buf, field<<3|typeFixed64), v)
}

func (w *wire) fixed64(field byte, v uint64) {
	if v != 0 {
		w.putFixed64(field, v)
	}
}

// putBytes writes bytes or a text, as much of it as shows that it is too long.
func putBytes[T string | []byte](w *wire, field byte, v T) {
	v = v[:min(len(v), w.limit+1)]
	w.buf = binary.AppendUvarint(append(w.buf, field<<3|typeBytes), uint64(len(v)))
	w.buf = append(w.buf, v...)
}

// text writes a text. Bytes that are not UTF-8, with which decoders would refuse the whole request, become U+FFFD.
func (w *wire) text(field byte, s string) {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, string(utf8.RuneError))
	}
	if s != "" {
		putBytes(w, field, s)
	}
}

func packed[N uint64 | float64](w *wire, field byte, list []N, element func([]byte, N) []byte) {
	if len(list) == 0 {
		return
	}
	at := w.message(field)
	buf := w.buf
	for i := 0; i < len(list) && len(buf) <= w.limit; i++ {
		buf = element(buf, list[i])
	}
	w.buf = buf
	w.close(at)
}

// keyValue writes an attribute. Field numbers are those of opentelemetry.proto.common.v1.
func (w *wire) keyValue(field byte, kv attribute.KeyValue) {
	if w.full() {
		return
	}
	at := w.message(field)
	w.text(1, string(kv.Key))
	w.value(2, kv.Value)
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
			putBytes(w, 1, s)
		} else {
			putBytes(w, 7, s)
		}
	case attribute.BOOL:
		w.putUvarint(2, uint64(typedfield.Bool(v.AsBool())))
	case attribute.INT64:
		w.putUvarint(3, uint64(v.AsInt64()))
	case attribute.FLOAT64:
		w.putFixed64(4, math.Float64bits(v.AsFloat64()))
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
		list := w.message(6)
		for _, kv := range v.AsMap() {
			w.keyValue(1, kv)
		}
		w.close(list)
	case attribute.BYTESLICE:
		putBytes(w, 7, v.AsByteSlice())
	case attribute.EMPTY:
	}
	w.close(at)
}

func array[T any](w *wire, elements []T, value func(T) attribute.Value) {
	list := w.message(5)
	for _, v := range elements {
		w.value(1, value(v))
	}
	w.close(list)
}

// attributes writes attributes. If they take more than limit bytes, it cuts and drops them by the rule of package
// truncate; those of the service are dropped last. It returns how many values were cut or dropped, and how many of these were dropped.
func (w *wire) attributes(field byte, set *attribute.Set, limit int) (truncated, dropped int) {
	begin := len(w.buf)
	for i := set.Iter(); i.Next() && !w.full(); {
		w.keyValue(field, i.Attribute())
	}
	if len(w.buf)-begin <= limit {
		return 0, 0
	}
	w.buf = w.buf[:begin]
	f := fitting{wire: wire{limit: w.limit}, field: field, list: set.ToSlice()}
	slices.SortStableFunc(f.list, func(a, b attribute.KeyValue) int { return isService(b) - isService(a) })
	truncated = truncate.Fit(&f, limit)
	for _, kv := range f.list {
		w.keyValue(field, kv)
	}
	return truncated, set.Len() - len(f.list)
}

// isService returns 1 for an attribute that says which service it is, and else 0.
func isService(kv attribute.KeyValue) int {
	if strings.HasPrefix(string(kv.Key), "service.") {
		return 1
	}
	return 0
}

// fitting is a list of attributes that is too large: a [truncate.Record]. Only texts are cut: an array or a map is kept or dropped as a whole.
type fitting struct {
	wire  // for measuring
	field byte
	list  []attribute.KeyValue
}

// size returns the size of an attribute, and the length of its text, if it has one. Those of an attribute that is
// larger than a record are smaller, but still too large.
func (f *fitting) size(kv attribute.KeyValue) (size, length int) {
	f.buf = f.buf[:0]
	f.keyValue(f.field, kv)
	if kv.Value.Type() == attribute.STRING {
		length = min(len(kv.Value.AsString()), f.limit+1)
	}
	return len(f.buf), length
}

func (f *fitting) Measure(lengths []int) (all []int, size int) {
	for _, kv := range f.list {
		n, length := f.size(kv)
		lengths = append(lengths, length)
		size += n
	}
	return lengths, size
}

func (f *fitting) Drop(budget *truncate.Budget) (dropped int) {
	before := len(f.list)
	_, size := f.Measure(nil)
	budget.Free += size
	f.list = slices.DeleteFunc(f.list, func(kv attribute.KeyValue) bool { return !budget.Keep(f.size(kv)) })
	return before - len(f.list)
}

func (f *fitting) Cut(share int) (cut int) {
	for i := range f.list {
		if _, length := f.size(f.list[i]); length > share {
			s := f.list[i].Value.AsString()
			f.list[i].Value = attribute.StringValue(chars.Clip(s, share-len(truncate.Mark)) + truncate.Mark)
			cut++
		}
	}
	return cut
}
