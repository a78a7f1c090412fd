package sloghandler

import (
	"context"
	"log/slog"
	"strconv"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/payload"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// head is what a record holds beside attributes, as its fields have it.
type head struct {
	time    uint64
	level   int32
	traceID [16]byte
	spanID  [8]byte
	message string
	source  string
}

// fillHead sets everything but level and message to what the record has without ReplaceAttr.
func (h *Handler) fillHead(ctx context.Context, r *slog.Record, hd *head) {
	if !r.Time.IsZero() {
		hd.time = typedfield.UnixNano(r.Time)
	}
	if h.sources != nil {
		hd.source = h.sources.text(r)
	}
	if h.traceContext != nil {
		hd.traceID, hd.spanID = idsOf(h.traceContext, ctx)
	}
}

// put writes everything but message and source.
func (hd *head) put(b *payload.Builder, o *output) {
	b.PutU64(o.time, hd.time)
	b.PutU32(o.level, uint32(hd.level))
	b.ID(o.traceID, hd.traceID[:], hd.traceID != [16]byte{})
	b.ID(o.spanID, hd.spanID[:], hd.spanID != [8]byte{})
}

// replaceHead lets ReplaceAttr see what has fields of its own: time, level, message and source. What it
// returns goes into the field if that can hold it, and else becomes an attribute.
func (w *walk) replaceHead(r *slog.Record, source bool) {
	hd := &w.head
	if !r.Time.IsZero() {
		hd.time = 0
		if a := w.headAttr(slog.Time(slog.TimeKey, r.Time.Round(0))); a.Value.Kind() == slog.KindTime {
			hd.time = typedfield.UnixNano(a.Value.Time())
		} else {
			w.addReplaced(a)
		}
	}
	a := w.headAttr(slog.Any(slog.LevelKey, r.Level))
	if level, ok := levelOf(a.Value); ok {
		hd.level = clamp(level)
	} else {
		w.addReplaced(a)
	}
	hd.message = ""
	if a := w.headAttr(slog.String(slog.MessageKey, r.Message)); a.Value.Kind() == slog.KindString {
		hd.message = a.Value.String()
	} else {
		w.addReplaced(a)
	}
	if s := r.Source(); source && s != nil {
		hd.source = ""
		a := w.headAttr(slog.Any(slog.SourceKey, s))
		if s, ok := a.Value.Any().(*slog.Source); ok {
			hd.source = sourceText(s)
		} else if a.Value.Kind() == slog.KindString {
			hd.source = a.Value.String()
		} else {
			w.addReplaced(a)
		}
	}
}

// headAttr returns what ReplaceAttr makes of an attribute that is in no group.
func (w *walk) headAttr(a slog.Attr) slog.Attr { return resolve(a, w.replace, nil) }

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
