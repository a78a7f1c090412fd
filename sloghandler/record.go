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
	head
	body
	h       *Handler
	dropped int // values that were dropped
}

// body is what an event gets of a record beside its head. Most records are encoded as their attributes come. Where something has
// to look at all of them before the first is written, they are [settled].
type body struct {
	own       *declaredOutput // the record's declaration; nil if the event has all attributes
	values    []value         // of the fields of own
	duplicate bool            // the kernel took the record for another event

	// The attributes, in this order.
	context []slog.Attr
	bound   *bound       // what the handler adds
	from    *slog.Record // has the first ones of the call, or is nil
	more    []slog.Attr  // those behind
	taken   uint64       // those of the call that have a field of their own, a bit each
}

// handle writes a record that has some more attributes to the events that are enabled.
func (h *Handler) handle(ctx context.Context, r *slog.Record, more []slog.Attr) error {
	at := rangeOf(r.Level) % ranges
	level, own := h.levels[at], (*declaredOutput)(nil)
	if h.declared != nil {
		own = h.declaredFor(r.Message, at)
	}
	if !level.event.Enabled() {
		level = nil // slog's wrappers ask late, or not at all
	}
	if level == nil && (own == nil || own.event == nil) || h.leveler != nil && r.Level < leastOf(h.leveler) {
		return nil
	}
	b := h.bound()
	var rec record // which a literal would be copied to
	rec.h, rec.bound, rec.from, rec.more, rec.dropped = h, b, r, more, h.dropped
	rec.fill(ctx, r)
	if !h.settles {
		if own == nil {
			_, err := rec.write(level, &rec.body)
			return err
		}
		if done, err := rec.writeStreamed(level, own); done {
			return err
		}
	}
	s := pool.Get().(*settled)
	s.replace, s.bound = h.replace, b // b is not taken from rec, which would leave the stack
	rec.settle(s)
	err := rec.writeSettled(level, own, s)
	s.release()
	return err
}

// writeStreamed writes the record of a declaration as its attributes come. It is not done if these have to be settled.
func (rec *record) writeStreamed(level *output, own *declaredOutput) (done bool, err error) {
	if own.event == nil || len(rec.context) > 0 || rec.bound.declared {
		return false, nil
	}
	buf := bufpool.Get()
	s := stream{o: own}
	rec.begin(&s.b, &own.output, *buf)
	if !s.write(&rec.body) {
		*buf = s.b.Buf
		bufpool.Put(buf)
		return false, nil
	}
	rest := body{bound: rec.bound}
	if s.taken != s.bit-1 {
		rest.from, rest.more, rest.taken = rec.from, rec.more, s.taken
	}
	rec.duplicate, err = rec.end(&s.b, &own.output, buf, &rest)
	return true, rec.writeAll(level, &rec.body, err)
}

// writeSettled writes a record to its level's event, and to that of its declaration. One of them may be nil. With the encoding
// EventHeader, a declaration has no event.
func (rec *record) writeSettled(level *output, own *declaredOutput, s *settled) (err error) {
	whole := rec.h.duplicates == attrjson.KeepLast && rec.h.encoding == EventHeader // of JSON, duplicates are dropped in the text
	if whole || own != nil && s.bound.declared {
		s.gather()
	}
	if own != nil {
		s.match(own, rec.h.duplicates)
		if s.own = own; own.event != nil {
			s.duplicate, err = rec.write(&own.output, &s.body)
			s.own = nil
			s.putBack()
		}
	}
	if whole {
		s.dropDuplicates()
	}
	return rec.writeAll(level, &s.body, err)
}

// writeAll writes a record to its level's event, unless that is nil, and joins the error to another one.
func (rec *record) writeAll(level *output, all *body, err error) error {
	if level == nil {
		return err
	}
	_, levelErr := rec.write(level, all)
	return errors.Join(err, levelErr)
}

// write writes a record to an event, and returns whether the kernel took it.
func (rec *record) write(o *output, b *body) (written bool, err error) {
	if rec.h.encoding == EventHeader {
		return false, rec.writeHeader(o, b)
	}
	return rec.writeTyped(o, b)
}

// each calls f for the attributes of the call of which some have a field of their own.
func (b *body) each(f func(slog.Attr)) {
	bit := uint64(1)
	b.from.Attrs(func(a slog.Attr) bool {
		if b.taken&bit == 0 {
			f(a)
		}
		bit <<= 1
		return true
	})
	for _, a := range b.more {
		if b.taken&bit == 0 {
			f(a)
		}
		bit <<= 1
	}
}
