package sloghandler

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/typedfield"
)

// head is what a record holds beside attributes and ids, as its fields have it.
type head struct {
	time    uint64
	level   int32
	message string
	source  string
}

// headOf returns what a record of the program's has without ReplaceAttr, but for the source.
func headOf(r *slog.Record) (hd head) {
	hd.level, hd.message = clamp(r.Level), r.Message
	if !r.Time.IsZero() {
		hd.time = typedfield.UnixNano(r.Time)
	}
	return hd
}

// source returns the source of a record.
func (rec *record) source() string {
	if rec.settled != nil && rec.h.replace != nil {
		return rec.settled.source
	}
	return rec.h.sources.text(rec.from)
}

// ask asks for what a context has.
func (rec *record) ask(ctx context.Context) {
	if rec.h.traceContext != nil {
		rec.traceID, rec.spanID = idsOf(rec.h.traceContext, ctx)
	}
	rec.context = rec.h.contextAttrs(ctx)
}

// contextAttrs returns the attributes of the context.
func (s *sink) contextAttrs(ctx context.Context) (all []slog.Attr) {
	for _, from := range s.fromContext {
		switch attrs := attrsOf(from, ctx); {
		case len(all) == 0:
			all = slices.Clip(attrs)
		case len(attrs) > 0:
			all = append(all, attrs...)
		}
	}
	return all
}

// headAttrs is how many attributes replaceHead adds at most.
const headAttrs = 4

// replaceHead lets ReplaceAttr see what has fields of its own: time, level, message and source. What it
// returns goes into the field if that can hold it, and else becomes an attribute.
func (rec *record) replaceHead(s *settled) {
	r, hd := rec.from, &s.head
	if !r.Time.IsZero() {
		hd.time = 0
		if a := resolve(slog.Time(slog.TimeKey, r.Time.Round(0)), s.replace, nil); a.Value.Kind() == slog.KindTime {
			hd.time = typedfield.UnixNano(a.Value.Time())
		} else {
			s.context = append(s.context, s.seen(a))
		}
	}
	a := resolve(slog.Any(slog.LevelKey, r.Level), s.replace, nil)
	if level, ok := levelOf(a.Value); ok {
		hd.level = clamp(level)
	} else {
		s.context = append(s.context, s.seen(a))
	}
	hd.message = ""
	if a := resolve(slog.String(slog.MessageKey, r.Message), s.replace, nil); a.Value.Kind() == slog.KindString {
		hd.message = a.Value.String()
	} else {
		s.context = append(s.context, s.seen(a))
	}
	if rec.h.sources == nil {
		return
	}
	if source := r.Source(); source != nil {
		hd.source = ""
		a := resolve(slog.Any(slog.SourceKey, source), s.replace, nil)
		if source, ok := a.Value.Any().(*slog.Source); ok {
			hd.source = sourceText(source)
		} else if a.Value.Kind() == slog.KindString {
			hd.source = a.Value.String()
		} else {
			s.context = append(s.context, s.seen(a))
		}
	}
}

// levelOf returns the level that a value stands for.
func levelOf(v slog.Value) (slog.Level, bool) {
	if v.Kind() == slog.KindInt64 {
		return slog.Level(v.Int64()), true
	}
	level, ok := v.Any().(slog.Level)
	return level, ok
}

// sources remembers the text of the places of log calls: finding a function's name
// allocates and takes longer than everything else about a record. There are no more places
// than the program has log calls, so nothing is ever forgotten.
type sources struct {
	lists [256]atomic.Pointer[sourcePlace] // by a hash of the PC
}

type sourcePlace struct {
	pc   uintptr
	text string
	next *sourcePlace
}

// text returns the source of a record, or "" if it does not say.
func (s *sources) text(r *slog.Record) string {
	if r.PC == 0 {
		return ""
	}
	list := &s.lists[uint64(r.PC)*0x9e3779b97f4a7c15>>56] // Fibonacci hashing
	for found := list.Load(); found != nil; found = found.next {
		if found.pc == r.PC {
			return found.text
		}
	}
	added := &sourcePlace{pc: r.PC, text: sourceText(r.Source())}
	for {
		// Another goroutine may add the same place, which does no harm.
		added.next = list.Load()
		if list.CompareAndSwap(added.next, added) {
			return added.text
		}
	}
}

func sourceText(s *slog.Source) string {
	if s == nil {
		return ""
	}
	return s.Function + " " + s.File + ":" + strconv.Itoa(s.Line)
}
