package sloghandler

import (
	"context"
	"errors"
	"log/slog"

	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/bufpool"
)

// record is a log record on its way to its events. It lives on the stack.
type record struct {
	h       *Handler
	from    *slog.Record
	traceID [16]byte
	spanID  [8]byte

	// The attributes, in this order. Most records are encoded as they come. Where something has to look at all of
	// them before the first is written, they are settled.
	context []slog.Attr
	bound   *bound       // what the handler adds
	call    *slog.Record // has the first ones of the call: from, or nil
	more    []slog.Attr  // those behind

	taken     uint64          // attributes of the call that have a field of their own, a bit each, or all
	settled   *settled        // has the head and the memory of the attributes, if they are settled
	own       *declaredOutput // has fields for values in settled; or nil
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
	b := h.bound()
	var rec record // which a literal would be copied to
	rec.h, rec.from, rec.bound, rec.call, rec.more, rec.dropped = h, r, b, r, more, h.dropped
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
	s := pool.Get().(*settled)
	s.replace, s.bound = h.replace, b // b is not taken from rec, which would leave the stack
	rec.settle(s)
	err := rec.writeSettled(level, own, own != nil && own.declaration == of)
	s.release()
	return err
}

// writeStreamed writes the record of a declaration as its attributes come. It is not done if these have to be settled.
func (rec *record) writeStreamed(level *output, own *declaredOutput) (done bool, err error) {
	if len(rec.context) > 0 || rec.bound.steps != nil {
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

// writeSettled writes a record to its level's event, and to that of its declaration. One of them may be nil. With
// fields, the attributes of the call are the fields of a struct of the declaration.
func (rec *record) writeSettled(level *output, own *declaredOutput, fields bool) (err error) {
	if own == nil { // duplicates are dropped in the text
		return rec.writeAll(level, nil)
	}
	s := rec.settled
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
