package payload

import (
	"bytes"
	"encoding/binary"

	"github.com/userevents/userevents-go/internal/truncate"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// span is where the bytes of a dynamic field are in a payload, without the NUL of a text.
type span struct {
	*dynamicField
	begin, end int
}

// fit truncates a payload that is larger than the limit.
func (b *Builder) fit() {
	var fewSpans [32]span
	var fewLengths [64]int
	payload := b.Buf[Base:]
	spans := b.spans(fewSpans[:0])
	lengths := appendLengths(fewLengths[:0], payload, spans)
	whole, cut, fits := truncate.Divide(lengths, b.limit-(len(payload)-truncate.Sum(lengths)))
	for range spans {
		i := largest(spans)
		if fits || i < 0 {
			break
		}
		b.dropped += drop(payload, spans, i, excess(b.schema, payload, spans, i)-b.limit)
		lengths = appendLengths(lengths[:0], payload, spans)
		whole, cut, fits = truncate.Divide(lengths, b.limit-(size(b.schema, spans)-truncate.Sum(lengths)))
	}
	b.compact(spans, whole, cut)
}

// largest returns the largest object, the last one of equal ones, or -1 if none has members. The largest object drops members
// first, so that a small one beside it keeps its own.
func largest(spans []span) int {
	found, most := -1, len(`{}`)+1
	for i, s := range spans {
		if n := s.end - s.begin; s.class == JSON && n >= most {
			found, most = i, n
		}
	}
	return found
}

// spans returns the dynamic fields that are not empty. They follow each other in the order of the schema. A
// location cannot tell where a field is in a payload of more than 64 KiB, but no field before is larger than that.
func (b *Builder) spans(spans []span) []span {
	payload := b.Buf[Base:]
	at := b.schema.Layout.FixedSize()
	for i := range b.schema.dynamic {
		f := &b.schema.dynamic[i]
		location := payload[f.at : f.at+4]
		if at >= len(payload) || bytes.Equal(location, b.schema.begin[Base+f.at:][:4]) {
			continue
		}
		end := at + int(binary.NativeEndian.Uint32(location)>>16)
		if !f.array {
			end = at + bytes.IndexByte(payload[at:], 0)
		}
		spans = append(spans, span{f, at, end})
		if at = end; !f.array {
			at++
		}
	}
	return spans
}

// appendLengths appends the lengths of everything that can be cut.
func appendLengths(lengths []int, payload []byte, spans []span) []int {
	for _, s := range spans {
		switch s.class {
		case Text, List, Array:
			lengths = append(lengths, s.end-s.begin)
		case JSON:
			lengths = truncate.AppendLengths(lengths, payload[s.begin:s.end])
		}
	}
	return lengths
}

// excess returns the size of the payload if all long texts outside of an object are cut as far as possible. Members that other
// objects have dropped do not count.
func excess(schema *Schema, payload []byte, spans []span, object int) int {
	n := size(schema, spans)
	for i := range spans {
		if i == object {
			continue
		}
		for _, length := range appendLengths(nil, payload, spans[i:i+1]) {
			if length > truncate.Short {
				n -= length - len(truncate.Mark)
			}
		}
	}
	return n
}

// drop drops members of an object and adapts its span.
func drop(payload []byte, spans []span, i, need int) (dropped int) {
	s := &spans[i]
	n, dropped := truncate.Drop(payload[s.begin:s.end], need)
	s.end = s.begin + n
	return dropped
}

// size returns the size that a payload of these spans has.
func size(schema *Schema, spans []span) int {
	n := schema.Layout.FixedSize()
	for _, s := range spans {
		n += s.end - s.begin
		if !s.array {
			n++
		}
	}
	return n
}

// compact cuts what is longer than whole to cut bytes, and moves everything together.
func (b *Builder) compact(spans []span, whole, cut int) {
	payload := b.Buf[Base:]
	end := b.schema.Layout.FixedSize()
	for _, s := range spans {
		n := s.end - s.begin
		content := payload[s.begin:s.end]
		switch {
		case s.class == JSON:
			var count int
			n, count = truncate.Object(content, whole, cut)
			b.dropped += count
		case s.class == Number || n <= whole:
		case s.class == Text:
			n = truncate.Text(content, cut)
			b.dropped++
		case s.class == List:
			n = truncate.List(content, cut)
			b.dropped++
		case s.class == Array:
			n = cut / s.elem * s.elem
			b.dropped++
		}
		copy(payload[end:], content[:n])
		switch {
		case s.array:
			typedfield.EndArray(b.Buf[:Base+end+n], Base, Base+s.at, Base+end)
			end += n
		case n == 0:
			copy(payload[s.at:s.at+4], b.schema.begin[Base+s.at:])
		default:
			b.Buf = typedfield.EndText(b.Buf[:Base+end+n], Base, Base+s.at, Base+end)
			end += n + 1
		}
	}
	b.Buf = b.Buf[:Base+end]
}
