package sloghandler

import (
	"context"
	"errors"
	"log/slog"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/payload"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// The ways of a record to an event. Most records are written directly, attribute by attribute as they come. Where
// something has to know all attributes before the first is written, the record is walked, see [walk].

// writeDirect writes a record to its level's event, which may be a duplicate of one that the kernel took for another event.
func (h *Handler) writeDirect(ctx context.Context, o *output, r *slog.Record, more []slog.Attr, duplicate bool) error {
	buf := bufpool.Get()
	b := o.schema.Begin(*buf, h.limit)
	h.putHead(ctx, &b, o, r)
	b.PutU8(o.duplicate, typedfield.Bool(duplicate))
	b.Text(o.message, r.Message)
	if h.sources != nil {
		b.Text(o.source, h.sources.text(r))
	}
	b.Drop(h.dropped)
	w := b.PrefixedObject(&h.bound().prefix)
	w.Record(r)
	w.Attrs(more)
	b.EndObject(o.attributes, &w, h.duplicates)
	_, err := o.event.WritePayload(&b, buf)
	return err
}

// putHead writes what a record holds beside message, source and attributes.
func (h *Handler) putHead(ctx context.Context, b *payload.Builder, o *output, r *slog.Record) {
	if !r.Time.IsZero() {
		b.PutU64(o.time, typedfield.UnixNano(r.Time))
	}
	b.PutU32(o.level, uint32(clamp(r.Level)))
	if h.traceContext != nil {
		traceID, spanID := idsOf(h.traceContext, ctx)
		b.ID(o.traceID, traceID[:], traceID != [16]byte{})
		b.ID(o.spanID, spanID[:], spanID != [8]byte{})
	}
}

// writeFound writes a record to its declaration's event, and returns whether the kernel took it. It is not done if the
// record has to be walked.
func (h *Handler) writeFound(ctx context.Context, o *declaredOutput, r *slog.Record, more []slog.Attr) (done, written bool, err error) {
	bound := h.bound()
	if bound.declared || bound.grouped && o.dotted {
		return false, false, nil
	}
	buf := bufpool.Get()
	f := finder{o: o, b: o.schema.Begin(*buf, h.limit)}
	h.putHead(ctx, &f.b, &o.output, r)
	if !f.find(r, more) {
		*buf = f.b.Buf
		bufpool.Put(buf)
		return false, false, nil
	}
	if f.unconverted > 0 {
		o.unconverted.Add(f.unconverted)
	}
	if h.sources != nil {
		f.b.Text(o.source, h.sources.text(r))
	}
	f.b.Drop(h.dropped)
	w := f.b.PrefixedObject(&bound.prefix)
	f.rest(&w, r, more)
	f.b.EndObject(o.attributes, &w, h.duplicates)
	written, err = o.event.WritePayload(&f.b, buf)
	return true, written, err
}

// writeHeaderDirect writes a record in the format EventHeader.
func (h *Handler) writeHeaderDirect(ctx context.Context, o *output, r *slog.Record, more []slog.Attr) error {
	hd := head{level: clamp(r.Level), message: r.Message}
	h.fillHead(ctx, r, &hd)
	buf := bufpool.Get()
	e := encoders.Get().(*eventheader.Encoder)
	e.Begin(append(*buf, index[:]...), &o.header, h.limit)
	appendHead(e, &hd, true)
	e.Protect()
	e.BeginStruct("attributes")
	p := appender{e: e, dropped: h.dropped}
	p.bound(h)
	r.Attrs(func(a slog.Attr) bool {
		p.attr(a)
		return true
	})
	for _, a := range more {
		p.attr(a)
	}
	return o.writeHeader(e, p.dropped, buf)
}

// writeHeader ends a record in the format EventHeader and writes it. The encoder and the buffer go back to their pools.
func (o *output) writeHeader(e *eventheader.Encoder, dropped int, buf *[]byte) error {
	e.Drop(dropped)
	out, err := e.End()
	truncated := e.Lost()
	encoders.Put(e)
	return o.event.WriteEncoded(out, truncated, err, buf)
}

// writeWalked writes a record whose attributes have to be looked at before they are encoded, to the outputs that are
// not nil.
func (h *Handler) writeWalked(ctx context.Context, level *output, own *declaredOutput, r *slog.Record, more []slog.Attr) error {
	w := walks.Get().(*walk)
	w.replace = h.replace
	h.fillHead(ctx, r, &w.head)
	w.head.level, w.head.message = clamp(r.Level), r.Message
	if h.replace != nil {
		w.replaceHead(r, h.sources != nil)
	}
	w.record(ctx, h, r, more)
	var err error
	switch {
	case h.encoding == EventHeader:
		err = h.writeHeaderWalk(level, own, w)
	case own == nil:
		err = h.writeWalk(level, w, false)
	case level == nil:
		_, err = h.writeDeclaredWalk(own, w)
	default:
		var written bool
		written, err = h.writeDeclaredWalk(own, w)
		w.release()
		err = errors.Join(err, h.writeWalk(level, w, written))
	}
	w.free()
	return err
}

// writeWalk writes a walked record to its level's event.
func (h *Handler) writeWalk(o *output, w *walk, duplicate bool) error {
	buf := bufpool.Get()
	b := o.schema.Begin(*buf, h.limit)
	w.head.put(&b, o)
	b.PutU8(o.duplicate, typedfield.Bool(duplicate))
	b.Text(o.message, w.head.message)
	_, err := h.endWalk(buf, &b, o, w)
	return err
}

// writeDeclaredWalk writes a walked record to its declaration's event, and returns whether the kernel took it.
func (h *Handler) writeDeclaredWalk(o *declaredOutput, w *walk) (written bool, err error) {
	o.unconverted.Add(w.capture(o.fields, h.duplicates))
	buf := bufpool.Get()
	b := o.schema.Begin(*buf, h.limit)
	w.head.put(&b, &o.output)
	for i := range o.fields {
		if v := &w.fields[i]; v.item >= 0 {
			o.fields[i].put(&b, v.num, v.text)
		}
	}
	return h.endWalk(buf, &b, &o.output, w)
}

// endWalk writes source and attributes, and hands the record to the kernel.
func (h *Handler) endWalk(buf *[]byte, b *payload.Builder, o *output, w *walk) (written bool, err error) {
	b.Text(o.source, w.head.source)
	object := b.PrefixedObject(&attrjson.Prefix{Duplicates: h.duplicates})
	w.json(&object)
	b.EndObject(o.attributes, &object, h.duplicates)
	b.Drop(w.dropped)
	return o.event.WritePayload(b, buf)
}

// writeHeaderWalk writes a walked record in the format EventHeader: under the name of its declaration, if it has one.
func (h *Handler) writeHeaderWalk(level *output, own *declaredOutput, w *walk) error {
	header := level.header
	if own != nil {
		header.Name = own.header.Name
		own.unconverted.Add(w.capture(own.fields, h.duplicates))
	}
	if h.duplicates != 0 {
		w.dropDuplicates()
	}
	buf := bufpool.Get()
	e := encoders.Get().(*eventheader.Encoder)
	e.Begin(append(*buf, index[:]...), &header, h.limit)
	appendHead(e, &w.head, own == nil)
	if own != nil {
		for i := range w.fields {
			if v := &w.fields[i]; v.item >= 0 {
				appendDeclared(e, &own.fields[i], v)
			}
		}
	}
	e.Protect()
	e.BeginStruct("attributes")
	w.eventHeader(e)
	return level.writeHeader(e, w.dropped, buf)
}

// index is where the write index goes.
var index [payload.Base]byte
