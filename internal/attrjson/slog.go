package attrjson

import "log/slog"

// maxEntered bounds how many groups, slices and maps of one object are
// walked into. A LogValuer may return a group that holds itself, a map may hold itself,
// and twice in every step.
const maxEntered = 1000

// Attrs writes the members for attrs; see [Writer.Attr].
func (w *Writer) Attrs(attrs []slog.Attr) {
	for i := range attrs {
		w.attr(&attrs[i])
	}
}

// Record writes the members for the attributes of r; see [Writer.Attr]. Time, level, message and source are
// not among them.
func (w *Writer) Record(r *slog.Record) {
	r.Attrs(func(a slog.Attr) bool {
		w.attr(&a)
		return true
	})
}

// Attr writes the member for a, by the rules for a slog.Handler: a LogValuer is
// resolved, an empty Attr is ignored, a group without members is ignored, a group
// with an empty key is inlined. The package comment says how each kind of value is
// written. A LogValuer that panics or does not end becomes a text that says so.
func (w *Writer) Attr(a slog.Attr) { w.attr(&a) }

// attr writes the attributes that records mostly have. Whatever is not plain or does not fit is
// left to member.
func (w *Writer) attr(a *slog.Attr) {
	if i := putString(&w.b, w.n, a.Key, ':'); i > 0 {
		switch a.Value.Kind() {
		case slog.KindString:
			i = putString(&w.b, i, a.Value.String(), ',')
		case slog.KindInt64:
			i = putInt(&w.b, i, a.Value.Int64())
		case slog.KindDuration:
			i = putInt(&w.b, i, int64(a.Value.Duration()))
		case slog.KindBool:
			i = putBool(w.b, i, a.Value.Bool())
		default:
			i = 0
		}
		if i > 0 {
			w.n = i
			return
		}
	}
	w.member(a)
}

func (w *Writer) member(a *slog.Attr) {
	kind := a.Value.Kind()
	switch {
	case kind == slog.KindGroup:
		w.group(a.Key, a.Value.Group())
		return
	case kind == slog.KindLogValuer:
		w.Attr(slog.Attr{Key: a.Key, Value: a.Value.Resolve()})
		return
	case a.Key == "" && kind == slog.KindAny && a.Value.Any() == nil:
		return
	}
	w.Key(a.Key)
	switch kind {
	case slog.KindString:
		w.String(a.Value.String())
	case slog.KindInt64:
		w.Int(a.Value.Int64())
	case slog.KindUint64:
		w.Uint(a.Value.Uint64())
	case slog.KindFloat64:
		w.Float(a.Value.Float64())
	case slog.KindBool:
		w.Bool(a.Value.Bool())
	case slog.KindDuration:
		w.Duration(a.Value.Duration())
	case slog.KindTime:
		w.Time(a.Value.Time())
	default:
		w.Any(a.Value.Any())
	}
}

func (w *Writer) group(key string, attrs []slog.Attr) {
	switch {
	case len(attrs) == 0:
	case !w.enter():
		w.dropped++
	case key == "":
		w.Attrs(attrs)
	default:
		w.Key(key)
		c := w.Group()
		w.Attrs(attrs)
		w.Close(c)
	}
}

// enter reports whether one more group, slice or map may be walked into.
func (w *Writer) enter() bool {
	w.entered++
	return w.entered <= maxEntered
}
