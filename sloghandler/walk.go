package sloghandler

import (
	"context"
	"log/slog"
	"sync"

	"github.com/userevents/userevents-go/internal/attrjson"
)

// walk is a record's attributes in the order in which they are encoded, resolved and
// replaced, without empty ones and empty groups. Encoders that need all of them
// before they write the first one use a walk. Walks are pooled.
type walk struct {
	items  []item
	groups []string // names of the groups that are open
	opened []int    // where these begin in items; -1 for inlined ones
	fields []value  // of the declared attributes

	head    head
	dropped int // attributes that were dropped

	replace func([]string, slog.Attr) slog.Attr
	entered int // groups that were walked into

	containers []attrjson.Container
	seen       map[name]struct{} // of dropDuplicates
}

// item is a step of a walk.
type item struct {
	slog.Attr // key and value; of a group that opens, the key
	step      step
	parent    int  // item that opened the group which this one is in, or -1
	gone      bool // not to be encoded
}

type step uint8

const (
	attribute step = iota
	open
	closing
)

// maxKept keeps the few large walks from staying in memory for ever.
const maxKept = 1000

var walks = sync.Pool{New: func() any { return new(walk) }}

// free returns the walk to the pool, without references to the caller's values.
func (w *walk) free() {
	if cap(w.items) > maxKept {
		return
	}
	clear(w.items)
	clear(w.groups)
	clear(w.fields)
	clear(w.seen)
	w.items, w.groups, w.opened, w.fields = w.items[:0], w.groups[:0], w.opened[:0], w.fields[:0]
	w.containers = w.containers[:0]
	w.head = head{}
	w.dropped, w.entered, w.replace = 0, 0, nil
	walks.Put(w)
}

// record adds all attributes of a record.
func (w *walk) record(ctx context.Context, h *Handler, r *slog.Record, more []slog.Attr) {
	for _, from := range h.fromContext {
		for _, a := range attrsOf(from, ctx) {
			w.add(a)
		}
	}
	w.dropped += h.dropped
	replace := w.replace
	w.replace = nil // was done by WithAttrs
	w.handler(h)
	w.replace = replace
	r.Attrs(func(a slog.Attr) bool {
		w.add(a)
		return true
	})
	for _, a := range more {
		w.add(a)
	}
	for len(w.groups) > 0 {
		w.close()
	}
}

// handler adds what the handler adds to records, from the outermost With on.
func (w *walk) handler(h *Handler) {
	if h.parent != nil {
		w.handler(h.parent)
	}
	if h.group != "" {
		w.open(h.group)
	}
	for _, a := range h.attrs {
		w.add(a)
	}
}

// add adds an attribute by the rules for a slog.Handler.
func (w *walk) add(a slog.Attr) { w.addReplaced(resolve(a, w.replace, w.groups)) }

// addReplaced adds an attribute that ReplaceAttr has seen. It has not seen those in a group.
func (w *walk) addReplaced(a slog.Attr) {
	switch {
	case a.Value.Kind() != slog.KindGroup:
		if !empty(a) {
			w.items = append(w.items, item{Attr: a, parent: w.parent()})
		}
		return
	case len(a.Value.Group()) == 0:
		return
	}
	if w.entered++; w.entered > maxEntered {
		w.dropped++
		return
	}
	if a.Key != "" {
		w.open(a.Key)
	}
	for _, a := range a.Value.Group() {
		w.add(a)
	}
	if a.Key != "" {
		w.close()
	}
}

func (w *walk) open(name string) {
	w.items = append(w.items, item{Attr: slog.Attr{Key: name}, step: open, parent: w.parent()})
	w.groups = append(w.groups, name)
	w.opened = append(w.opened, len(w.items)-1)
}

// close closes the innermost group, or takes an empty one back.
func (w *walk) close() {
	last := len(w.items) - 1
	at := w.parent()
	w.groups, w.opened = w.groups[:len(w.groups)-1], w.opened[:len(w.opened)-1]
	if at == last {
		w.items = w.items[:last]
		return
	}
	w.items = append(w.items, item{step: closing, parent: w.parent()})
}

// parent returns the item that opened the innermost group.
func (w *walk) parent() int {
	if n := len(w.opened); n > 0 {
		return w.opened[n-1]
	}
	return -1
}

// json writes the attributes as members of an object.
func (w *walk) json(to *attrjson.Writer) {
	for i := range w.items {
		switch it := &w.items[i]; {
		case it.gone:
		case it.step == open:
			to.Key(it.Key)
			w.containers = append(w.containers, to.Group())
		case it.step == closing:
			last := len(w.containers) - 1
			to.Close(w.containers[last])
			w.containers = w.containers[:last]
		default:
			to.Attr(it.Attr)
		}
	}
}

// name is what duplicates have in common.
type name struct {
	parent int // item that opened the group
	key    string
}

// dropDuplicates keeps the last one of several attributes or groups with the same key in
// the same group.
func (w *walk) dropDuplicates() {
	if w.seen == nil {
		w.seen = map[name]struct{}{}
	}
	for i := len(w.items) - 1; i >= 0; i-- {
		it := &w.items[i]
		if it.gone || it.step == closing {
			continue
		}
		n := name{it.parent, it.Key}
		if _, later := w.seen[n]; later {
			w.drop(i)
		}
		w.seen[n] = struct{}{}
	}
}

// drop takes an attribute out, or a group with everything in it.
func (w *walk) drop(i int) {
	for depth := 0; ; i++ {
		w.items[i].gone = true
		switch w.items[i].step {
		case open:
			depth++
		case closing:
			depth--
		default:
		}
		if depth == 0 {
			return
		}
	}
}
