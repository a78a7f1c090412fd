package otlp

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/internal/chars"
	"github.com/userevents/userevents-go/internal/truncate"
)

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

// Measure implements [truncate.Record].
func (f *fitting) Measure(lengths []int) (all []int, size int) {
	for _, kv := range f.list {
		n, length := f.size(kv)
		lengths = append(lengths, length)
		size += n
	}
	return lengths, size
}

// Drop implements [truncate.Record].
func (f *fitting) Drop(budget *truncate.Budget) (dropped int) {
	before := len(f.list)
	_, size := f.Measure(nil)
	budget.Free += size
	f.list = slices.DeleteFunc(f.list, func(kv attribute.KeyValue) bool { return !budget.Keep(f.size(kv)) })
	return before - len(f.list)
}

// Cut implements [truncate.Record].
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
