package sloghandler

import (
	"context"
	"log/slog"
	"math"
	"sync"

	"github.com/userevents/userevents-go/internal/panictext"
)

// resolved has the attributes of a record in lists that may be changed: LogValuers are resolved, ReplaceAttr has seen
// each attribute, groups are copied, and empty groups are empty attributes, which encoders ignore. Its memory is pooled.
type resolved struct {
	resolver
	head
	context      []slog.Attr
	preformatted *preformatted
	more         []slog.Attr // of the call

	values []value      // of the declared fields
	leaves []*slog.Attr // the attributes that are no groups
	took   []taken

	seenNames map[name]*slog.Attr // by dropDuplicates
	named     int                 // groups that have a number
}

// taken is an attribute that was taken out of the lists, since it is in a field of its own.
type taken struct {
	from *slog.Attr
	attr slog.Attr
}

// maxKept keeps the few large lists from staying in memory for ever.
const maxKept = 1000

var pool = sync.Pool{New: func() any { return new(resolved) }}

func (rec *record) resolve(s *resolved) {
	s.head = headOf(rec.from)
	if s.replace != nil || len(rec.context) > 0 {
		s.context = s.room(headAttrs + len(rec.context))
		if s.replace != nil {
			rec.replaceHead(s)
		}
		for i := range rec.context {
			s.context = append(s.context, s.attr(&rec.context[i]))
		}
		s.groups = append(s.groups, rec.preformatted.groups...)
	}
	list := s.room(rec.from.NumAttrs() + len(rec.more))
	rec.from.Attrs(func(a slog.Attr) bool {
		list = append(list, s.attr(&a))
		return true
	})
	for i := range rec.more {
		list = append(list, s.attr(&rec.more[i]))
	}
	s.more = list
	rec.use(s)
	rec.resolved = s
	rec.dropped += s.dropped
}

func (rec *record) use(s *resolved) {
	rec.context, rec.preformatted, rec.call, rec.more = s.context, s.preformatted, nil, s.more
}

// release returns the lists to the pool, without references to the program's values.
func (s *resolved) release() {
	if cap(s.arena) > maxKept {
		return
	}
	clear(s.arena)
	clear(s.groups[:cap(s.groups)])
	clear(s.values)
	clear(s.leaves)
	clear(s.took)
	clear(s.seenNames)
	*s = resolved{
		resolver: resolver{arena: s.arena[:0], groups: s.groups[:0]},
		values:   s.values[:0], leaves: s.leaves[:0], took: s.took[:0],
		seenNames: s.seenNames,
	}
	pool.Put(s)
}

func (s *resolved) take(leaf int32) {
	from := s.leaves[leaf-1]
	s.took = append(s.took, taken{from, *from})
	*from = slog.Attr{}
}

func (s *resolved) putBack() {
	for i := range s.took {
		*s.took[i].from = s.took[i].attr
	}
}

// gather puts what the handler adds to records into one list with the attributes of the call, as far as the handler has not
// encoded it for good.
func (s *resolved) gather() {
	if s.preformatted.steps == nil {
		return
	}
	for at := s.preformatted.steps; at != nil; {
		n := 0 // attributes since the last group
		for before := at; before != nil && before.group == ""; before = before.before {
			n += len(before.attrs)
		}
		list := s.room(n + len(s.more))[:n]
		s.more = append(list, s.more...)
		for ; at != nil && at.group == ""; at = at.before {
			n -= len(at.attrs)
			for i, a := range at.attrs {
				list[n+i] = s.copied(a)
			}
		}
		if at != nil {
			s.more = append(s.room(1), slog.Attr{Key: at.group, Value: slog.GroupValue(s.more...)})
			at = at.before
		}
	}
	s.preformatted = s.preformatted.before
}

// copied returns an attribute that is resolved, with groups of its own.
func (s *resolved) copied(a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindGroup {
		list := s.room(len(a.Value.Group()))
		for _, a := range a.Value.Group() {
			list = append(list, s.copied(a))
		}
		a.Value = slog.GroupValue(list...)
	}
	return a
}

type name struct {
	parent int // the group that they are in
	key    string
}

// dropDuplicates keeps the last one of several attributes or groups with the same key in the same group.
func (s *resolved) dropDuplicates() {
	if s.seenNames == nil {
		s.seenNames = map[name]*slog.Attr{}
	}
	s.drop(s.context, 0)
	innermost := 0
	if len(s.preformatted.groups) > 0 { // which the handler has opened, and encoded for good
		innermost = -1
	}
	s.drop(s.more, innermost)
}

func (s *resolved) drop(attrs []slog.Attr, parent int) (some bool) {
	for i := range attrs {
		a := &attrs[i]
		switch {
		case a.Value.Kind() != slog.KindGroup:
			if empty(*a) {
				continue
			}
		case a.Key == "":
			some = s.drop(a.Value.Group(), parent) || some
			continue
		default:
			s.named++
			if !s.drop(a.Value.Group(), s.named) {
				continue
			}
		}
		some = true
		n := name{parent, a.Key}
		if before := s.seenNames[n]; before != nil {
			*before = slog.Attr{}
		}
		s.seenNames[n] = a
	}
	return some
}

// maxEntered bounds the groups that are walked into: a LogValuer may return a group
// that holds itself.
const maxEntered = 1000

type resolver struct {
	replace func([]string, slog.Attr) slog.Attr
	groups  []string // that are open, the outermost first; only for replace

	// Attributes of a record end with it: they are in an arena. Those of a handler stay: they are frozen, too, since the
	// program may change what a value refers to.
	freeze bool
	arena  []slog.Attr

	entered int // groups that were walked into
	dropped int
}

// room returns an empty list with room for n attributes.
func (s *resolver) room(n int) []slog.Attr {
	if s.freeze {
		return make([]slog.Attr, 0, n)
	}
	used := len(s.arena)
	if cap(s.arena)-used < n { // what is in the old memory stays there
		s.arena, used = make([]slog.Attr, 0, max(n, 2*cap(s.arena), 64)), 0
	}
	s.arena = s.arena[:used+n]
	return s.arena[used : used : used+n]
}

func (s *resolver) list(attrs []slog.Attr) []slog.Attr {
	list := s.room(len(attrs))
	for i := range attrs {
		list = append(list, s.attr(&attrs[i]))
	}
	return list
}

func (s *resolver) attr(a *slog.Attr) slog.Attr {
	if s.replace == nil {
		switch a.Value.Kind() {
		case slog.KindGroup, slog.KindLogValuer, slog.KindAny:
		default:
			return *a
		}
	}
	return s.seen(resolve(*a, s.replace, s.groups))
}

// seen is attr for an attribute that ReplaceAttr has seen. It has not seen those in a group.
func (s *resolver) seen(a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindGroup:
		return s.group(a)
	case slog.KindAny:
		if v := a.Value.Any(); s.freeze && changes(v) {
			var dropped int
			a.Value, dropped = frozenValue(v)
			s.dropped += dropped
		}
	default:
	}
	return a
}

func (s *resolver) group(a slog.Attr) slog.Attr {
	attrs := a.Value.Group()
	if len(attrs) == 0 {
		return slog.Attr{}
	}
	if s.entered++; s.entered > maxEntered {
		s.dropped++
		return slog.Attr{}
	}
	open := len(s.groups)
	if a.Key != "" {
		s.groups = append(s.groups, a.Key)
	}
	a.Value = slog.GroupValue(s.list(attrs)...)
	s.groups = s.groups[:open]
	return a
}

func resolve(a slog.Attr, replace func([]string, slog.Attr) slog.Attr, groups []string) slog.Attr {
	if a.Value.Kind() == slog.KindLogValuer { // Resolve has a defer, which other values need not pay for
		a.Value = a.Value.Resolve()
	}
	if replace != nil && a.Value.Kind() != slog.KindGroup {
		a = replaced(replace, groups, a)
		a.Value = a.Value.Resolve()
	}
	return a
}

// empty reports whether a handler has to ignore the attribute.
func empty(a slog.Attr) bool {
	return a.Key == "" && a.Value.Kind() == slog.KindAny && a.Value.Any() == nil
}

// The functions below call functions of the program. Their panics become attributes: a log
// call must not end the program, nor lose the record.

func replaced(f func([]string, slog.Attr) slog.Attr, groups []string, a slog.Attr) (out slog.Attr) {
	defer func() {
		if r := recover(); r != nil {
			out = slog.String(a.Key, panictext.Of(r))
		}
	}()
	return f(groups, a)
}

func attrsOf(f func(context.Context) []slog.Attr, ctx context.Context) (attrs []slog.Attr) {
	defer func() {
		if r := recover(); r != nil {
			attrs = []slog.Attr{slog.String(panictext.Key, panictext.Of(r))}
		}
	}()
	return f(ctx)
}

func idsOf(f func(context.Context) ([16]byte, [8]byte), ctx context.Context) (traceID [16]byte, spanID [8]byte) {
	defer func() { _ = recover() }() // there are no ids then
	return f(ctx)
}

// leastOf returns the least level of a Leveler, and the least of all if it panics.
func leastOf(l slog.Leveler) (level slog.Level) {
	defer func() {
		if recover() != nil {
			level = math.MinInt
		}
	}()
	return l.Level()
}
