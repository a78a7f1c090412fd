package payload

import (
	"bytes"
	"encoding/binary"
	"sync"

	"github.com/userevents/userevents-go/internal/truncate"
	"github.com/userevents/userevents-go/internal/typedfield"
)

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

// fit truncates a payload that is larger than the limit.
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

// Measure implements [truncate.Record].
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

// Drop implements [truncate.Record].
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
