package sloghandler

import (
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/payload"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// writeTyped writes a record with the encoding [Typed].
func (rec *record) writeTyped(o *output, r *body) (written bool, err error) {
	buf := bufpool.Get()
	var b payload.Builder
	rec.begin(&b, o, *buf)
	if r.own == nil {
		b.PutU8(o.duplicate, typedfield.Bool(r.duplicate))
		b.Text(o.message, rec.message)
	} else {
		for i := range r.own.fields {
			if v := &r.values[i]; v.leaf > 0 {
				r.own.fields[i].put(&b, v.num, v.text)
			}
		}
	}
	return rec.end(&b, o, buf, r)
}

// begin begins the payload with the fields that all records have, but for the source: texts are in the order of the fields.
func (rec *record) begin(b *payload.Builder, o *output, buf []byte) {
	*b = o.schema.Begin(buf, rec.h.limit)
	b.PutU64(o.time, rec.time)
	b.PutU32(o.level, uint32(rec.level))
	if rec.h.traceContext != nil {
		b.ID(o.traceID, rec.traceID[:], rec.traceID != [16]byte{})
		b.ID(o.spanID, rec.spanID[:], rec.spanID != [8]byte{})
	}
}

// end writes source and attributes, hands the record to the kernel, and returns the buffer to its pool.
func (rec *record) end(b *payload.Builder, o *output, buf *[]byte, r *body) (written bool, err error) {
	b.Text(o.source, rec.source)
	b.Drop(rec.dropped)
	if r.from == nil && len(r.more) == 0 && len(r.context) == 0 && r.bound.prefix.Empty() {
		b.Raw(o.attributes, noAttributes)
		return o.event.WritePayload(b, buf)
	}
	var w attrjson.Writer
	if len(r.context) == 0 {
		b.PrefixedObject(&w, &r.bound.prefix)
	} else {
		b.PrefixedObject(&w, &attrjson.Prefix{Duplicates: rec.h.duplicates})
		w.Attrs(r.context)
		w.Prefix(&r.bound.prefix)
	}
	if r.taken != 0 {
		r.each(w.Attr)
	} else {
		if r.from != nil {
			w.Record(r.from)
		}
		w.Attrs(r.more)
	}
	b.EndObject(o.attributes, &w, rec.h.duplicates)
	return o.event.WritePayload(b, buf)
}

var noAttributes = []byte("{}")
