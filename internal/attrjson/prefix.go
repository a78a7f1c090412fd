package attrjson

import (
	"log/slog"
	"slices"
)

// Prefix is the start of an object that is encoded once and used for many: what
// the WithAttrs and WithGroup methods of a slog.Handler have gathered. The zero Prefix is
// empty. A Prefix is a value: its methods return a new one and leave the receiver
// as it is, and any number of goroutines may use it.
type Prefix struct {
	// Duplicates is what [Writer.End] is going to be told. With [KeepLast], each long text is written as far as the
	// limit, since those that share it may be removed.
	Duplicates Duplicates

	body []byte // members with a comma behind each, some of them in groups that are still open
	open int    // groups open at the end of body

	// Groups that were opened after the last member. They are written only
	// if a member follows.
	lazy     []byte
	lazyOpen int

	capped  int // as in a Writer
	dropped int
}

// Len returns how many bytes of memory the Prefix keeps.
func (p *Prefix) Len() int { return len(p.body) + len(p.lazy) }

// Empty reports whether the Prefix adds nothing to an object without members, not even the count of what it has dropped.
func (p *Prefix) Empty() bool { return len(p.body) == 0 && p.dropped == 0 }

// WithGroup returns a Prefix that continues in a group of that name. A group to which
// nothing is added is omitted. With an empty name, it returns p.
func (p Prefix) WithGroup(name string) Prefix {
	if name == "" {
		return p
	}
	p.lazy = AppendString(slices.Clip(p.lazy), name)
	p.lazy = append(p.lazy, ':', '{')
	p.lazyOpen++
	return p
}

// Room for most attributes, so that a Prefix takes one allocation: writing wants some bytes more than the result has.
const (
	prefixRoom = 64
	prefixAttr = 40
)

// WithAttrs returns a Prefix that continues behind attrs, which are written as by
// [Writer.Attrs]. The limit is that of [Begin]. The attrs are not kept.
func (p Prefix) WithAttrs(attrs []slog.Attr, limit int) Prefix {
	var w Writer
	p.Begin(&w, make([]byte, 0, len(p.body)+len(p.lazy)+prefixRoom+prefixAttr*len(attrs)), limit)
	n, dropped := w.n, w.dropped
	w.Attrs(attrs)
	if w.n == n {
		p.dropped += w.dropped - dropped
		return p
	}
	return Prefix{
		body:    slices.Clip(w.b[len(`{`):w.n]),
		open:    w.unclosed + w.lazyOpen,
		capped:  w.capped,
		dropped: w.dropped,

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

// begun writes the members of a Prefix, and opens its groups.
func (w *Writer) begun(p *Prefix) {
	if len(p.body) > 0 {
		w.wrote(append(w.b[:w.n], p.body...))
		w.unclosed = p.open
	}
	if p.lazyOpen > 0 {
		w.lazy, w.lazyOpen = w.n, p.lazyOpen
		w.wrote(append(w.b[:w.n], p.lazy...))
	}
}
