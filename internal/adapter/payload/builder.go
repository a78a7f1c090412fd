package payload

import (
	"bytes"
	"encoding/binary"
	"sync"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/truncate"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// Builder builds one payload behind a write index. It is meant to live on the stack. The dynamic fields are written
// in the order of the schema; omitted ones are empty.
type Builder struct {
	Buf []byte // of the caller's, with everything written so far

	schema  *Schema
	limit   int
	dropped int
}

// Begin begins a payload that is going to have at most limit bytes. Buf is empty, and belongs to the Builder until
// [Builder.End].
func (b *Builder) Begin(s *Schema, buf []byte, limit int) {
	b.schema, b.limit, b.dropped, b.Buf = s, limit, 0, append(buf, s.begin...)
}

// PutU8 writes a field of one byte at an offset in the fixed part.
func (b *Builder) PutU8(at int, v uint8) { typedfield.PutU8(b.Buf, Base+at, v) }

// PutU16 writes a field of two bytes.
func (b *Builder) PutU16(at int, v uint16) { typedfield.PutU16(b.Buf, Base+at, v) }

// PutU32 writes a field of four bytes.
func (b *Builder) PutU32(at int, v uint32) { typedfield.PutU32(b.Buf, Base+at, v) }

// PutU64 writes a field of eight bytes.
func (b *Builder) PutU64(at int, v uint64) { typedfield.PutU64(b.Buf, Base+at, v) }

// ID writes an id as hex digits. An id that is not valid is left empty.
func (b *Builder) ID(at int, id []byte, valid bool) {
	if valid {
		b.Buf = typedfield.AppendHex(b.Buf, Base, Base+at, id)
	}
}

// longestEscape is the length of the longest escape, such as \U000e0041.
const longestEscape = 10

// Text writes a text. If it is longer than the limit, so is what is written of it: then [Builder.End] truncates it.
func (b *Builder) Text(at int, s string) {
	if s != "" {
		b.Buf, _ = typedfield.AppendString(b.Buf, Base, Base+at, s, b.limit+longestEscape)
	}
}

// Object returns a Writer for an object of attributes. Call [Builder.EndObject] next.
func (b *Builder) Object() attrjson.Writer { return attrjson.Begin(b.Buf, b.limit) }

// PrefixedObject makes w, which is the zero Writer, one for an object of attributes that begins with a prefix.
func (b *Builder) PrefixedObject(w *attrjson.Writer, p *attrjson.Prefix) { p.Begin(w, b.Buf, b.limit) }

// EndObject ends the object.
func (b *Builder) EndObject(at int, w *attrjson.Writer, d attrjson.Duplicates) {
	begin := len(b.Buf)
	buf, dropped := w.End(d)
	b.Buf = typedfield.EndText(buf, Base, Base+at, begin)
	b.dropped += dropped
}

// Raw writes a text that needs no escaping, such as an object that was made before.
func (b *Builder) Raw(at int, s []byte) {
	if len(s) > 0 {
		begin := len(b.Buf)
		b.Buf = typedfield.EndText(append(b.Buf, s...), Base, Base+at, begin)
	}
}

// EndRaw ends a text that the caller has appended to Buf from begin on.
func (b *Builder) EndRaw(at, begin int) {
	if len(b.Buf) > begin {
		b.Buf = typedfield.EndText(b.Buf, Base, Base+at, begin)
	}
}

// EndPart ends a text that is in Buf from begin to end, with its NUL: several texts may be appended at once, in the order of
// their fields. An empty part leaves the field empty.
func (b *Builder) EndPart(at, begin, end int) {
	if end > begin {
		typedfield.EndArray(b.Buf[:end], Base, Base+at, begin)
	}
}

// Limit returns the most bytes that are of use in one text: no more of it is left when the payload is truncated.
func (b *Builder) Limit() int { return b.limit }

// Drop counts values that the caller has dropped.
func (b *Builder) Drop(n int) { b.dropped += n }

// End returns the buffer with the write index and the payload, and how many texts and attributes were cut or
// dropped. The field truncated says the same.
func (b *Builder) End() (buf []byte, truncated int) {
	if len(b.Buf)-Base > b.limit {
		b.fit()
	}
	if b.schema.atTruncated >= 0 {
		typedfield.PutU32(b.Buf, Base+b.schema.atTruncated, uint32(b.dropped))
	}
	return b.Buf, b.dropped
}

// fitting is a payload that is larger than its limit: a [truncate.Record].
type fitting struct {
	schema *Schema
	buf    []byte // with the write index
	spans  []span
}

// span is where the bytes of a dynamic field are in a payload, without the NUL of a text.
type span struct {
	*dynamicField
	begin, end int
}

func (b *Builder) fit() {
	f := fittings.Get().(*fitting)
	*f = fitting{schema: b.schema, buf: b.Buf, spans: f.spans[:0]}
	f.findSpans()
	b.dropped += truncate.Fit(f, b.limit)
	b.Buf, f.buf = f.buf, nil
	fittings.Put(f)
}

var fittings = sync.Pool{New: func() any { return new(fitting) }}

// findSpans finds the dynamic fields that are not empty. They follow each other in the order of the schema. A
// location cannot tell where a field is in a payload of more than 64 KiB, but no field before is larger than that.
func (f *fitting) findSpans() {
	payload, at := f.buf[Base:], f.schema.Layout.FixedSize()
	for i := range f.schema.dynamic {
		field := &f.schema.dynamic[i]
		location := payload[field.at : field.at+4]
		if at >= len(payload) || bytes.Equal(location, f.schema.begin[Base+field.at:][:4]) {
			continue
		}
		end := at + int(binary.NativeEndian.Uint32(location)>>16)
		if !field.array {
			end = at + bytes.IndexByte(payload[at:], 0)
		}
		f.spans = append(f.spans, span{field, at, end})
		if at = end; !field.array {
			at++
		}
	}
}

func (f *fitting) Measure(lengths []int) (all []int, size int) {
	size = f.schema.Layout.FixedSize()
	for _, s := range f.spans {
		size += s.end - s.begin
		if !s.array {
			size++
		}
		switch s.class {
		case Text, List, Array:
			lengths = append(lengths, s.end-s.begin)
		case JSON:
			lengths = truncate.AppendLengths(lengths, f.buf[Base+s.begin:Base+s.end])
		}
	}
	return lengths, size
}

func (f *fitting) Drop(budget *truncate.Budget) (dropped int) {
	for _, s := range f.spans {
		switch n := s.end - s.begin; s.class {
		case Text, List, Array:
			budget.Free += max(0, n-truncate.Short)
		case JSON:
			budget.Free += n - len(`{}`)
		}
	}
	for i := range f.spans {
		if s := &f.spans[i]; s.class == JSON {
			n, count := truncate.Drop(f.buf[Base+s.begin:Base+s.end], budget)
			s.end = s.begin + n
			dropped += count
		}
	}
	return dropped
}

// Cut implements [truncate.Record], and moves all fields together.
func (f *fitting) Cut(share int) (cut int) {
	payload := f.buf[Base:]
	end := f.schema.Layout.FixedSize()
	for _, s := range f.spans {
		n := s.end - s.begin
		content := payload[s.begin:s.end]
		switch {
		case s.class == JSON:
			var count int
			n, count = truncate.Object(content, share)
			cut += count
		case s.class == Number || n <= share:
		default:
			n = s.cut(content, share)
			cut++
		}
		copy(payload[end:], content[:n])
		switch {
		case s.array:
			typedfield.EndArray(f.buf[:Base+end+n], Base, Base+s.at, Base+end)
			end += n
		case n == 0:
			copy(payload[s.at:s.at+4], f.schema.begin[Base+s.at:])
		default:
			f.buf = typedfield.EndText(f.buf[:Base+end+n], Base, Base+s.at, Base+end)
			end += n + 1
		}
	}
	f.buf = f.buf[:Base+end]
	return cut
}

// cut cuts the content of a field to share bytes, in place, and returns the new length.
func (s *span) cut(content []byte, share int) int {
	switch s.class {
	case Text:
		return truncate.Text(content, share)
	case List:
		return truncate.List(content, share)
	default:
		return share / s.elem * s.elem
	}
}
