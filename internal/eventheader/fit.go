package eventheader

import (
	"math"

	"github.com/userevents/userevents-go/internal/truncate"
)

// fitting is the fields of an event that is too large: a [truncate.Record]. An array is one value, also one of texts.
type fitting struct {
	meta, data []byte
	order      order
}

func (f *fitting) Measure(lengths []int) (all []int, size int) {
	for w := f.walk(); w.next(); {
		if w.length > 0 {
			lengths = append(lengths, w.length)
		}
	}
	return lengths, len(f.meta) + len(f.data)
}

// Drop implements [truncate.Record]. A struct of which nothing is left is dropped, too.
func (f *fitting) Drop(budget *truncate.Budget) (dropped int) {
	var structs [maxNesting]droppedStruct
	depth, toMeta, toData := 0, 0, 0
	budget.Free += len(f.meta) + len(f.data)
	for w := f.walk(); w.next(); {
		size := w.c.pos - w.fromMeta + w.c.off - w.fromData
		switch w.c.item {
		case ItemStruct:
			structs[depth] = droppedStruct{begin: toMeta, size: size}
			budget.Open(size)
			depth++
		case ItemStructEnd:
			depth--
			s := structs[depth]
			if s.children == 0 {
				budget.Close(s.size)
				toMeta = s.begin
				continue
			}
			f.meta[s.begin+s.size-1] = byte(s.children)
			if depth > 0 {
				structs[depth-1].children++
			}
			continue
		default:
			if !budget.Keep(size, w.length) {
				dropped++
				continue
			}
			if depth > 0 {
				structs[depth-1].children++
			}
		}
		toMeta += copy(f.meta[toMeta:], f.meta[w.fromMeta:w.c.pos])
		toData += copy(f.data[toData:], f.data[w.fromData:w.c.off])
	}
	f.meta, f.data = f.meta[:toMeta], f.data[:toData]
	return dropped
}

type droppedStruct struct {
	begin    int // of its own field in the metadata
	size     int // of that, whose last byte is the number of children
	children int // that are kept
}

// Cut implements [truncate.Record]. A text in JSON becomes plain text.
func (f *fitting) Cut(share int) (cut int) {
	read, write := 0, 0
	for w := f.walk(); w.next(); {
		if w.length <= share {
			continue
		}
		// The count moves along, so that it is before the content in both places.
		begin := w.c.off - w.length
		write += copy(f.data[write:], f.data[read:begin])
		content := f.data[write : write+copy(f.data[write:], f.data[begin:w.c.off])]
		n, count := w.cut(content, share)
		f.order.put16(f.data[write-2:], uint16(count))
		write += n
		read = w.c.off
		cut++
	}
	write += copy(f.data[write:], f.data[read:])
	f.data = f.data[:write]
	return cut
}

// walker iterates over the fields of an event that an Encoder has made: values, whole arrays, and the beginnings and
// ends of structs.
type walker struct {
	c Cursor

	fromMeta, fromData int // where the field begins
	length             int // of the text, the bytes or the array at the end of the field's data, which can be cut, or 0
	unit               int // size of what cannot be divided; 0 in an array of texts
}

func (f *fitting) walk() *walker {
	return &walker{c: Cursor{meta: f.meta, data: f.data, order: f.order, steps: math.MaxInt}}
}

func (w *walker) next() bool {
	w.fromMeta, w.fromData, w.length = w.c.pos, w.c.off, 0
	if !w.c.Next() {
		return false
	}
	e := w.c.field.typ.encoding()
	switch {
	case w.c.item == ItemArray:
		w.unit = e.size()
		w.c.skip()
		w.c.item = ItemArray // the whole of it
		w.length = w.c.off - w.fromData - 2
	case w.c.item == itemValue && e.counted():
		w.unit = 1
		w.length = len(w.c.value)
	}
	return true
}

// cut cuts the content of the field to share bytes, in place. It returns its new length, and its number of units.
func (w *walker) cut(content []byte, share int) (n, count int) {
	switch {
	case w.unit == 0:
		return w.cutTexts(content, share)
	case w.c.item == itemValue && w.c.field.typ.encoding() == encString8:
		if w.c.field.typ == typeJSON {
			format := &w.c.meta[w.c.field.typeAt+1]
			*format = *format&chainFlag | byte(formatUTFBOM)
		}
		n = truncate.Text(content, share)
	default:
		n = share - share%w.unit
	}
	return n, n / w.unit
}

// cutTexts cuts an array of texts, each behind its length: the texts to equal shares, but to no less than
// [truncate.Short]. Then the mark takes the place of the last ones.
func (w *walker) cutTexts(texts []byte, limit int) (n, count int) {
	var few [64]int
	lengths := few[:0]
	for at := 0; at < len(texts); {
		length := int(w.c.order.get16(texts[at:]))
		lengths = append(lengths, length)
		at += 2 + length
	}
	free := limit - 2*len(lengths)
	share := max(truncate.Short, truncate.Share(lengths, free))
	const mark = 2 + len(truncate.Mark)
	kept, keptCount := 0, 0 // with space for the mark behind them
	for at := 0; at < len(texts) && n <= limit; count++ {
		length := int(w.c.order.get16(texts[at:]))
		content := texts[at+2 : at+2+length]
		at += 2 + length
		if length > share {
			length = truncate.Text(content, share)
		}
		if n+mark <= limit {
			kept, keptCount = n, count
		}
		w.c.order.put16(texts[n:], uint16(length))
		n += 2 + copy(texts[n+2:], content[:length])
	}
	if n <= limit {
		return n, count
	}
	w.c.order.put16(texts[kept:], uint16(len(truncate.Mark)))
	return kept + 2 + copy(texts[kept+2:], truncate.Mark), keptCount + 1
}
