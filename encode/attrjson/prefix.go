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
	body []byte // members with a comma behind each, some of them in groups that are still open
	open int    // groups open at the end of body

	// Groups that were opened after the last member. They are written only
	// if a member follows.
	lazy     []byte
	lazyOpen int

	lost int
}

// WithGroup returns a Prefix that continues in a group of that name. A group to which
// nothing is added is left out. With an empty name, it returns p.
func (p Prefix) WithGroup(name string) Prefix {
	if name == "" {
		return p
	}
	p.lazy = AppendString(slices.Clip(p.lazy), name)
	p.lazy = append(p.lazy, ':', '{')
	p.lazyOpen++
	return p
}

// WithAttrs returns a Prefix that continues behind attrs, which are written as by
// [Writer.Attrs]. The object that it would be by itself has at most limit
// bytes; what is lost to that is counted again by [Writer.End] for every object that begins with
// it. The attrs are not kept.
func (p Prefix) WithAttrs(attrs []slog.Attr, limit int) Prefix {
	w := p.Begin(nil, limit)
	n, lost := w.n, w.lost
	w.Attrs(attrs)
	if w.n == n {
		p.lost += w.lost - lost
		return p
	}
	return Prefix{
		body: slices.Clone(w.b[len(`{`):w.n]),
		open: w.unclosed + w.lazyOpen,
		lost: w.lost,
	}
}

// Begin starts an object as the function [Begin] does, and writes the members of
// the Prefix. What follows goes into the innermost of its groups; End
// closes these. If the Prefix does not fit, its members are dropped one by one.
func (p *Prefix) Begin(dst []byte, limit int) (w Writer) {
	w.open(dst, limit)
	w.lost = p.lost
	switch n := len(p.body); {
	case n == 0:
	case n+p.open <= w.end-w.n:
		w.wrote(append(w.b[:w.n], p.body...))
		w.unclosed = p.open
		w.setEnd(w.end - p.open)
	default:
		w.replay(p.body)
	}
	if p.lazyOpen > 0 {
		w.beginLazy(p)
	}
	return w
}

// beginLazy opens the groups of p that have no member yet. End takes them back if they still
// have none.
func (w *Writer) beginLazy(p *Prefix) {
	if len(p.lazy)+p.lazyOpen > w.end-w.n {
		w.setEnd(-1)
		return
	}
	w.lazy, w.lazyOpen = w.n, p.lazyOpen
	w.wrote(append(w.b[:w.n], p.lazy...))
	w.setEnd(w.end - p.lazyOpen)
}

// replay writes the encoded members in body as far as they fit, and leaves the
// groups open that are open in body. It returns the position behind what it has read: the
// end, or a closing brace.
func (w *Writer) replay(body []byte) int {
	i := 0
	for i < len(body) && body[i] != '}' {
		key := skipString(body, i) + len(`:`)
		w.quotedKey(body[i:key])
		i = key
		if body[i] == '{' && body[i+1] != '}' {
			c := w.Group()
			i += len(`{`)
			i += w.replay(body[i:])
			if i == len(body) {
				if !c.failed {
					w.unclosed++
				}
				return i
			}
			w.Close(c)
			i += len(`}`)
		} else {
			end := skipValue(body, i)
			w.put(body[i:end])
			i = end
		}
		if i < len(body) && body[i] == ',' {
			i++
		}
	}
	return i
}

// quotedKey is Key for a key that is encoded already, with the colon.
func (w *Writer) quotedKey(key []byte) {
	w.mark = w.n
	if len(key) > w.end-w.n {
		w.hold()
		return
	}
	w.wrote(append(w.b[:w.n], key...))
}
