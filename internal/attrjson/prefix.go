package attrjson

import (
	"log/slog"
	"slices"

	"github.com/userevents/userevents-go/internal/truncate"
)

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
	least   int // size of body with all texts and arrays cut as far as package truncate cuts them
}

// Empty reports whether the Prefix adds nothing to an object without members, not even the count of what it has dropped.
func (p *Prefix) Empty() bool { return len(p.body) == 0 && p.dropped == 0 }

// Clip returns the Prefix without the free memory behind it.
func (p *Prefix) Clip() Prefix {
	clipped := *p
	clipped.body, clipped.lazy = slices.Clip(p.body), slices.Clip(p.lazy)
	return clipped
}

// WithGroup returns a Prefix that continues in a group of that name. A group to which
// nothing is added is omitted. With an empty name, it returns p.
func (p Prefix) WithGroup(name string) Prefix {
	if name == "" {
		return p
	}
	p.lazy = AppendString(p.lazy, name)
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
// [Writer.Attrs]. The limit is that of [Begin]. The attrs are not kept. Once the members take more than the limit with
// all texts cut, further ones are only counted as dropped, unless they replace others.
func (p Prefix) WithAttrs(attrs []slog.Attr, limit int) Prefix {
	if len(attrs) == 0 {
		return p
	}
	body := p.body
	if len(body) == 0 {
		body = []byte{'{'}
	}
	begin := len(body)
	body = slices.Grow(body, len(p.lazy)+prefixRoom+prefixAttr*len(attrs))
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
	members, least := truncate.Members(w.b[begin:w.n])
	if p.least > limit && p.Duplicates == KeepAll {
		p.dropped = w.dropped + members
		return p
	}
	return Prefix{
		body:    w.b[:w.n],
		open:    w.unclosed + w.lazyOpen,
		capped:  w.capped,
		dropped: w.dropped,
		least:   p.least + least,

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
		w.wrote(append(w.b[:w.n], p.body[len(`{`):]...))
		w.unclosed = p.open
	}
	if p.lazyOpen > 0 {
		w.lazy, w.lazyOpen = w.n, p.lazyOpen
		w.wrote(append(w.b[:w.n], p.lazy...))
	}
}
