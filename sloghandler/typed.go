package sloghandler

import (
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/payload"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// write writes a record to an event, and returns whether the kernel took it.
func (rec *record) write(o *output) (written bool, err error) {
	buf := bufpool.Get()
	var b payload.Builder
	b.Begin(o.schema, *buf, rec.h.limit)
	rec.putHead(&b, o)
	if rec.own != nil {
		rec.settled.putValues(&b, rec.own.fields)
		return rec.end(&b, o, buf)
	}
	b.PutU8(o.duplicate, typedfield.Bool(rec.duplicate))
	message := rec.from.Message
	if rec.settled != nil {
		message = rec.settled.message
	}
	b.Text(o.message, message)
	return rec.end(&b, o, buf)
}

// putHead writes the fields that all records have, but for the source: texts are in the order of the fields.
func (rec *record) putHead(b *payload.Builder, o *output) {
	if rec.settled == nil {
		if !rec.from.Time.IsZero() {
			b.PutU64(o.time, typedfield.UnixNano(rec.from.Time))
		}
		b.PutU32(o.level, uint32(clamp(rec.from.Level)))
	} else {
		b.PutU64(o.time, rec.settled.time)
		b.PutU32(o.level, uint32(rec.settled.level))
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
	if none && len(rec.context) == 0 && rec.bound.prefix.Empty() {
		b.Raw(o.attributes, noAttributes)
		return o.event.WritePayload(b, buf)
	}
	var w attrjson.Writer
	if len(rec.context) == 0 {
		b.PrefixedObject(&w, &rec.bound.prefix)
	} else {
		b.PrefixedObject(&w, &attrjson.Prefix{Duplicates: rec.h.duplicates})
		w.Attrs(rec.context)
		w.Prefix(&rec.bound.prefix)
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

// putValues writes the values of declared fields.
func (s *settled) putValues(b *payload.Builder, fields []field) {
	for i := range fields {
		if v := &s.values[i]; v.leaf > 0 {
			fields[i].Put(b, v.num, v.text)
		}
	}
}
