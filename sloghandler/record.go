package sloghandler

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// record is a log record on its way to its events. It lives on the stack.
type record struct {
	h       *Handler
	from    *slog.Record
	traceID [16]byte
	spanID  [8]byte

	// The attributes, in this order. Most records are encoded as they come. Where something has to look at all of
	// them before the first is written, they are resolved.
	context      []slog.Attr
	preformatted *preformatted // what the handler adds
	call         *slog.Record  // has the first ones of the call: from, or nil
	more         []slog.Attr   // those behind

	taken     uint64          // attributes of the call that have a field of their own, a bit each, or all
	resolved  *resolved       // has the head and the memory of the attributes, if they are resolved
	own       *declaredOutput // has fields for values in resolved; or nil
	duplicate bool            // the kernel took the record for another event
	dropped   int             // values that were dropped
}

const all = ^uint64(0)

// handle writes a record that has some more attributes to the events that are enabled. They may be the fields of a struct of a
// declaration.
func (h *Handler) handle(ctx context.Context, r *slog.Record, more []slog.Attr, of *declaration) error {
	at := rangeOf(r.Level) % ranges
	level, own := h.levels[at], (*declaredOutput)(nil)
	if h.declared != nil {
		own = h.declaredFor(r.Message, at)
	}
	if !level.event.Enabled() {
		level = nil // slog's wrappers ask late, or not at all
	}
	if level == nil && own == nil || h.leveler != nil && r.Level < leastOf(h.leveler) {
		return nil
	}
	b := h.preformatted()
	var rec record // which a literal would be copied to
	rec.h, rec.from, rec.preformatted, rec.call, rec.more, rec.dropped = h, r, b, r, more, h.dropped
	if h.asks {
		rec.ask(ctx)
	}
	if h.replace == nil {
		if own == nil {
			_, err := rec.write(level)
			return err
		}
		if done, err := rec.writeStreamed(level, own); done {
			return err
		}
	}
	s := pool.Get().(*resolved)
	s.replace, s.preformatted = h.replace, b // b is not taken from rec, which would leave the stack
	rec.resolve(s)
	err := rec.writeResolved(level, own, own != nil && own.declaration == of)
	s.release()
	return err
}

// writeStreamed writes the record of a declaration as its attributes come. It is not done if these have to be resolved.
func (rec *record) writeStreamed(level *output, own *declaredOutput) (done bool, err error) {
	if len(rec.context) > 0 || rec.preformatted.steps != nil {
		return false, nil
	}
	buf := bufpool.Get()
	var s stream
	s.o, s.unique = own, rec.h.duplicates == attrjson.KeepLast
	s.b.Begin(own.schema, *buf, rec.h.limit)
	rec.putHead(&s.b, &own.output)
	if !s.write(rec.call, rec.more) {
		*buf = s.b.Buf
		bufpool.Put(buf)
		return false, nil
	}
	if rec.taken = s.taken; s.taken == s.bit-1 {
		rec.taken = all
	}
	rec.duplicate, err = rec.end(&s.b, &own.output, buf)
	rec.taken = 0
	return true, rec.writeAll(level, err)
}

// writeResolved writes a record to its level's event, and to that of its declaration. One of them may be nil. With
// fields, the attributes of the call are the fields of a struct of the declaration.
func (rec *record) writeResolved(level *output, own *declaredOutput, fields bool) (err error) {
	if own == nil { // duplicates are dropped in the text
		return rec.writeAll(level, nil)
	}
	s := rec.resolved
	if fields {
		s.match(own, false)
	} else {
		s.gather()
		rec.use(s)
	}
	if rec.h.duplicates == attrjson.KeepLast {
		s.dropDuplicates()
	}
	if !fields {
		s.match(own, true)
	}
	rec.own = own
	rec.duplicate, err = rec.write(&own.output)
	rec.own = nil
	s.putBack()
	return rec.writeAll(level, err)
}

// writeAll writes a record to its level's event, unless that is nil, and joins the error to another one.
func (rec *record) writeAll(level *output, err error) error {
	if level == nil {
		return err
	}
	_, levelErr := rec.write(level)
	return errors.Join(err, levelErr)
}

// each calls f for the attributes of the call that have no field of their own.
func (rec *record) each(f func(slog.Attr)) {
	bit := uint64(1)
	rec.call.Attrs(func(a slog.Attr) bool {
		if rec.taken&bit == 0 {
			f(a)
		}
		bit <<= 1
		return true
	})
	for _, a := range rec.more {
		if rec.taken&bit == 0 {
			f(a)
		}
		bit <<= 1
	}
}

// write writes a record to an event, and returns whether the kernel took it.
func (rec *record) write(o *output) (written bool, err error) {
	buf := bufpool.Get()
	var b payload.Builder
	b.Begin(o.schema, *buf, rec.h.limit)
	rec.putHead(&b, o)
	if rec.own != nil {
		rec.resolved.putValues(&b, rec.own.fields)
		return rec.end(&b, o, buf)
	}
	b.PutU8(o.duplicate, typedfield.Bool(rec.duplicate))
	message := rec.from.Message
	if rec.resolved != nil {
		message = rec.resolved.message
	}
	b.Text(o.message, message)
	return rec.end(&b, o, buf)
}

// putHead writes the fields that all records have, but for the source: texts are in the order of the fields.
func (rec *record) putHead(b *payload.Builder, o *output) {
	if rec.resolved == nil {
		if !rec.from.Time.IsZero() {
			b.PutU64(o.time, typedfield.UnixNano(rec.from.Time))
		}
		b.PutU32(o.level, uint32(clamp(rec.from.Level)))
	} else {
		b.PutU64(o.time, rec.resolved.time)
		b.PutU32(o.level, uint32(rec.resolved.level))
	}
	if rec.h.traceContext != nil {
		b.ID(o.traceID, rec.traceID[:], rec.traceID != [16]byte{})
		b.ID(o.spanID, rec.spanID[:], rec.spanID != [8]byte{})
	}
}

// end writes source and attributes, hands the record to the kernel, and returns the buffer to its pool.
func (rec *record) end(b *payload.Builder, o *output, buf *[]byte) (written bool, err error) {
	if rec.h.sources != nil {
		b.Text(o.source, rec.source())
	}
	b.Drop(rec.dropped)
	none := rec.taken == all || rec.call == nil && len(rec.more) == 0
	if none && len(rec.context) == 0 && rec.preformatted.prefix.Empty() {
		b.Raw(o.attributes, noAttributes)
		return o.event.WritePayload(b, buf)
	}
	var w attrjson.Writer
	if len(rec.context) == 0 {
		b.PrefixedObject(&w, &rec.preformatted.prefix)
	} else {
		b.PrefixedObject(&w, &attrjson.Prefix{Duplicates: rec.h.duplicates})
		w.Attrs(rec.context)
		w.Prefix(&rec.preformatted.prefix)
	}
	switch {
	case none:
	case rec.taken != 0:
		rec.each(w.Attr)
	default:
		if rec.call != nil {
			w.Record(rec.call)
		}
		w.Attrs(rec.more)
	}
	b.EndObject(o.attributes, &w, rec.h.duplicates)
	return o.event.WritePayload(b, buf)
}

var noAttributes = []byte("{}")

func (s *resolved) putValues(b *payload.Builder, fields []field) {
	for i := range fields {
		if v := &s.values[i]; v.leaf > 0 {
			fields[i].Put(b, v.num, v.text)
		}
	}
}

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

func (rec *record) source() string {
	if rec.resolved != nil && rec.h.replace != nil {
		return rec.resolved.source
	}
	return rec.h.sources.text(rec.from)
}

func (rec *record) ask(ctx context.Context) {
	if rec.h.traceContext != nil {
		rec.traceID, rec.spanID = idsOf(rec.h.traceContext, ctx)
	}
	rec.context = rec.h.contextAttrs(ctx)
}

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
func (rec *record) replaceHead(s *resolved) {
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
