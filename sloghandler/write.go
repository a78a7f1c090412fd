package sloghandler

import (
	"context"
	"log/slog"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/uevents"
)

// head is what a record holds beside attributes.
type head struct {
	time    uint64
	level   int32
	traceID [16]byte
	spanID  [8]byte
	message string
	source  string
}

// head sets h, which is zero, to the head of a record as it is without ReplaceAttr.
func (s *sink) head(ctx context.Context, r *slog.Record, h *head) {
	h.level, h.message = clamp(r.Level), r.Message
	if !r.Time.IsZero() {
		h.time = typed.UnixNano(r.Time)
	}
	if s.callers != nil {
		h.source = s.callers.text(r)
	}
	if s.traceContext != nil {
		h.traceID, h.spanID = idsOf(s.traceContext, ctx)
	}
}

// write writes a record in the shortest way that does it justice.
func (h *Handler) write(ctx context.Context, o *outlet, r *slog.Record) error {
	switch {
	case !h.direct:
	case o.fields == nil:
		return h.writeDirect(ctx, o, r)
	case len(o.fields) <= maxDirect:
		bound := h.bound()
		if bound.declared || bound.grouped && o.dotted {
			break
		}
		f := finder{fields: o.fields}
		if f.find(r) {
			return h.writeFound(ctx, o, r, &f)
		}
	}
	return h.writeWalked(ctx, o, r)
}

// writeDirect writes a record whose attributes can be encoded as they come.
func (h *Handler) writeDirect(ctx context.Context, o *outlet, r *slog.Record) error {
	var hd head
	h.head(ctx, r, &hd)
	b := bufpool.Get()
	var e typedEncoder
	e.begin(*b, h.limit, o, &hd)
	e.source(hd.source)
	w := h.bound().prefix.Begin(e.buf, e.attributesLimit(len(hd.message)))
	w.Record(r)
	e.endAttributes(&w, h.duplicates)
	e.message(hd.message)
	err := o.write(e.finish())
	*b = e.buf
	bufpool.Put(b)
	return err
}

// writeFound writes a declared record.
func (h *Handler) writeFound(ctx context.Context, o *outlet, r *slog.Record, f *finder) error {
	if f.lost > 0 {
		o.point.counts.unconverted.Add(f.lost)
	}
	var hd head
	h.head(ctx, r, &hd)
	b := bufpool.Get()
	var e typedEncoder
	e.begin(*b, h.limit, o, &hd)
	e.declared(f.values[:len(f.fields)])
	e.source(hd.source)
	w := h.bound().prefix.Begin(e.buf, e.attributesLimit(0))
	f.rest(&w, r)
	e.endAttributes(&w, h.duplicates)
	err := o.write(e.finish())
	*b = e.buf
	bufpool.Put(b)
	return err
}

// writeWalked writes a record whose attributes have to be looked at before they are encoded.
func (h *Handler) writeWalked(ctx context.Context, o *outlet, r *slog.Record) error {
	var hd head
	h.head(ctx, r, &hd)
	w := walks.Get().(*walk)
	w.replace = h.replace
	if h.replace != nil {
		w.replaceHead(&hd, r, h.callers != nil)
	}
	w.record(ctx, h, r)
	if o.fields != nil {
		o.point.counts.unconverted.Add(w.capture(o.fields, h.duplicates))
	}
	b := bufpool.Get()
	var cut int
	var err error
	if h.encoding == EventHeader {
		*b, cut, err = h.appendEventHeader(*b, o, &hd, w)
	} else {
		*b, cut = h.appendTyped(*b, o, &hd, w)
	}
	if err == nil {
		err = o.write(*b, cut)
	}
	bufpool.Put(b)
	w.free()
	return err
}

// appendTyped appends the payload of a walked record.
func (h *Handler) appendTyped(buf []byte, o *outlet, hd *head, w *walk) (out []byte, cut int) {
	var e typedEncoder
	e.begin(buf, h.limit, o, hd)
	e.declared(w.fields)
	e.source(hd.source)
	e.walked(w, len(hd.message), h.duplicates)
	e.message(hd.message)
	return e.finish()
}

// write hands a payload to the kernel.
func (o *outlet) write(buf []byte, cut int) error {
	written, err := o.event.WriteRecord(buf)
	if written && cut > 0 {
		o.point.counts.cut.Add(1)
	}
	return err
}

// index is where the write index goes.
var index [uevents.IndexSize]byte
