package attrjson

import (
	"log/slog"
	"slices"

	"github.com/userevents/userevents-go/internal/truncate"
)

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

// Prefix is the start of an object that is encoded once and used for many: what
// the WithAttrs and WithGroup methods of a slog.Handler have gathered. The zero Prefix is
// empty. A Prefix is a value: its methods leave the receiver as it is, and any number of goroutines may use it. But
// like append, WithAttrs and WithGroup may use the free memory behind it: derive more than one Prefix only from
// the result of [Prefix.Clip].
type Prefix struct {
	// Duplicates is what [Writer.End] is going to be told. With [KeepLast], each long text is written as far as the
	// limit, since those that share it may be removed.
	Duplicates Duplicates

	body []byte // the brace of the object, and members with a comma behind each, some of them in groups that are still open
	open int    // groups open at the end of body

	// Groups that were opened after the last member. They are written only
	// if a member follows.
	lazy     []byte
	lazyOpen int

	capped  int // as in a Writer
	dropped int

	// The first bytes of body that were measured, and their size with all texts and arrays cut as far as package truncate
	// cuts them. A body within the limit is not measured.
	measured, least int

	full bool // the members take more than the limit with all texts cut: there is no space behind them
}

// Empty reports whether the Prefix adds nothing to an object without members, not even the count of what it has dropped.
func (p *Prefix) Empty() bool { return len(p.body) == 0 && p.dropped == 0 }

// Clip removes the free memory behind the Prefix from it, which another Prefix may use.
func (p *Prefix) Clip() { p.body, p.lazy = slices.Clip(p.body), slices.Clip(p.lazy) }

// WithGroup returns a Prefix that continues in a group of that name. A group to which
// nothing is added is omitted. With an empty name, it returns p, and also if there is no space in the group.
func (p Prefix) WithGroup(name string) Prefix {
	if name == "" || p.full || len(p.lazy) > mostLazy {
		return p
	}
	p.lazy = AppendString(p.lazy, name)
	p.lazy = append(p.lazy, ':', '{')
	p.lazyOpen++
	return p
}

// mostLazy is more than any limit: a group that begins behind so many names of groups has no space.
const mostLazy = 64 << 10

// Room for most attributes, so that a Prefix takes one allocation: writing wants some bytes more than the result has.
const (
	prefixRoom = 64
	prefixAttr = 40
)

// WithAttrs returns a Prefix that continues behind attrs, which are written as by
// [Writer.Attrs]. The limit is that of [Begin]. The attrs are not kept. Once the members take more than the limit with
// all texts cut, further ones are only counted as dropped, unless they replace others.
func (p Prefix) WithAttrs(attrs []slog.Attr, limit int) Prefix {
	if len(attrs) == 0 {
		return p
	}
	if p.full {
		w := Writer{limit: limit, capped: p.capped, dropped: p.dropped}
		w.wrote([]byte{'{'})
		w.Attrs(attrs)
		members, _ := truncate.Members(w.b[len("{"):w.n])
		p.dropped = w.dropped + members
		return p
	}
	body := slices.Grow(p.body, len("{")+len(p.lazy)+prefixRoom+prefixAttr*len(attrs))
	if len(body) == 0 {
		body = append(body, '{')
	}
	begin := len(body)
	w := Writer{limit: limit, capped: p.capped, dropped: p.dropped, duplicates: p.Duplicates, unclosed: p.open}
	w.wrote(body)
	if p.lazyOpen > 0 {
		w.lazy, w.lazyOpen = w.n, p.lazyOpen
		w.wrote(append(w.b[:w.n], p.lazy...))
	}
	n := w.n
	w.Attrs(attrs)
	if w.n == n {
		p.dropped = w.dropped
		return p
	}
	measured, least := p.measured, p.least
	if w.n > limit {
		_, more := truncate.Members(w.b[max(measured, len("{")):begin])
		members, last := truncate.Members(w.b[begin:w.n])
		if least+more > limit && p.Duplicates == KeepAll {
			// The next call has the same space.
			p.body, p.measured, p.least, p.dropped, p.full = w.b[:begin], begin, least+more, w.dropped+members, true
			return p
		}
		measured, least = w.n, least+more+last
	}
	return Prefix{
		body:     w.b[:w.n],
		open:     w.unclosed + w.lazyOpen,
		capped:   w.capped,
		dropped:  w.dropped,
		measured: measured,
		least:    least,

		Duplicates: p.Duplicates,
	}
}

// Begin makes w, which is the zero Writer, one that starts an object as the function [Begin] does, with the members of
// the Prefix. Further members go into the innermost of its groups; End closes the groups. A Writer is large: this spares copies.
func (p *Prefix) Begin(w *Writer, dst []byte, limit int) {
	w.open(dst, limit)
	w.dropped, w.capped, w.duplicates = p.dropped, p.capped, p.Duplicates
	if len(p.body) > 0 || p.lazyOpen > 0 {
		w.begun(p)
	}
}

// Prefix writes the members of a Prefix, once for each object. Further members go into the innermost of its groups;
// End closes the groups.
func (w *Writer) Prefix(p *Prefix) {
	w.dropped += p.dropped
	w.capped += p.capped
	w.begun(p)
}

func (w *Writer) begun(p *Prefix) {
	if len(p.body) > 0 {
		w.wrote(append(w.b[:w.n], p.body[len(`{`):]...))
		w.unclosed = p.open
	}
	if p.lazyOpen > 0 {
		w.lazy, w.lazyOpen = w.n, p.lazyOpen
		w.wrote(append(w.b[:w.n], p.lazy...))
	}
}
