package ueventslog

import (
	"math"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/ueventslog/internal/logattrs"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/eventset"
	"github.com/userevents/userevents-go/internal/payload"
	"github.com/userevents/userevents-go/internal/typedfield"
)

// keySeverityText is the attribute that holds the text of a severity where the event has no field for it.
const keySeverityText = "severity_text"

// writeSeverity writes a record to the event of its severity. A duplicate has been written to the event that declares it, too.
func (s *sink) writeSeverity(event *eventset.Event, d *recordData, a logattrs.Attributes, duplicate bool) (written bool, err error) {
	buf := bufpool.Get()
	o := severitySchema
	var b payload.Builder
	b.Begin(o.Schema, *buf, s.Limit)
	o.putHead(&b, d)
	b.PutU8(o.At[fieldDuplicate], typedfield.Bool(duplicate))
	b.PutU32(o.At[fieldDropped], uint32(a.Dropped()))
	b.Text(o.At[fieldSeverityText], d.severityText)
	b.Text(o.At[fieldEventName], d.eventName)
	b.Text(o.body, attrs.TextOfBounded(d.body))
	d.putOrigin(&b, &o.origin)
	w, duplicates := b.Object(), attrjson.KeepAll // the provider has removed duplicate keys
	a.Walk(func(kv attribute.KeyValue) bool {
		if attrs.IsReserved(kv.Key) {
			duplicates = attrjson.KeepLast
		}
		attrs.WriteJSON(&w, &kv)
		return true
	})
	o.origin.WriteScope(&w, &d.scope)
	b.EndObject(o.attributes, &w, duplicates)
	return event.WritePayload(&b, buf)
}

// writeRecord writes a record to the event that declares it.
func (s *sink) writeRecord(o *recordEvent, d *recordData, a logattrs.Attributes) (written bool, err error) {
	var v values
	if n := v.match(a, o.fields); n > 0 {
		o.Unconverted.Add(n)
	}
	buf := bufpool.Get()
	var b payload.Builder
	b.Begin(o.Schema, *buf, s.Limit)
	o.putHead(&b, d)
	b.Text(o.body, attrs.TextOfBounded(d.body))
	for i := range o.fields {
		if v[i].attribute > 0 {
			o.fields[i].Put(&b, v[i].num, v[i].text)
		}
	}
	d.putOrigin(&b, &o.origin)
	w, duplicates := b.Object(), attrjson.KeepAll
	n := 0
	a.Walk(func(kv attribute.KeyValue) bool {
		if n++; !v.has(n, len(o.fields)) {
			if kv.Key == keySeverityText {
				duplicates = attrjson.KeepLast // it may be written below
			}
			attrs.WriteMember(&w, &kv, &duplicates)
		}
		return true
	})
	o.origin.WriteScope(&w, &d.scope)
	attrs.WriteCount(&w, attrs.DroppedAttributesKey, a.Dropped())
	if d.severityText != d.severity.String() { // the number says the same in most cases
		attrs.WriteText(&w, keySeverityText, d.severityText)
	}
	b.EndObject(o.attributes, &w, duplicates)
	return o.WritePayload(&b, buf)
}

// putHead writes the fields that every event begins with.
func (s *schema) putHead(b *payload.Builder, d *recordData) {
	b.PutU64(s.At[fieldTime], typedfield.UnixNano(d.timestamp))
	b.PutU64(s.At[fieldObserved], typedfield.UnixNano(d.observed))
	b.PutU32(s.At[fieldSeverity], uint32(clamp(d.severity)))
	b.ID(s.At[fieldTraceID], d.traceID[:], d.traceID.IsValid())
	b.ID(s.At[fieldSpanID], d.spanID[:], d.spanID.IsValid())
	b.PutU8(s.At[fieldFlags], uint8(d.flags))
}

// clamp returns a severity as the field holds it.
func clamp(s log.Severity) int32 {
	return int32(min(max(int64(s), math.MinInt32), math.MaxInt32))
}
