package ueventslog

import (
	"math"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/eventset"
	"github.com/userevents/userevents-go/internal/payload"
)

// keySeverityText is the attribute that holds the text of a severity where the event has no field for it.
const keySeverityText = "severity_text"

// writeSeverity writes a record to the event of its severity. A duplicate has been written to the event that declares
// it, too.
func (s *sink) writeSeverity(event *eventset.Event, r *sdklog.Record, duplicate bool) (written bool, err error) {
	buf := bufpool.Get()
	o := severitySchema
	b := o.Begin(*buf, s.Limit)
	o.putHead(&b, r)
	b.PutU8(o.At[fieldDuplicate], typed.Bool(duplicate))
	b.PutU32(o.At[fieldDropped], uint32(r.DroppedAttributes()))
	b.Text(o.At[fieldSeverityText], r.SeverityText())
	b.Text(o.At[fieldEventName], r.EventName())
	b.Text(o.body, attrs.Text(r.Body()))
	scope := r.InstrumentationScope()
	o.origin.Put(&b, &scope, s.Resources.Describe(r.Resource()))
	w := b.Object()
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		attrs.WriteJSON(&w, kv)
		return true
	})
	o.origin.WriteScope(&w, &scope)
	b.EndObject(o.attributes, &w, attrjson.KeepAll) // the SDK has removed duplicate keys
	return event.WritePayload(&b, buf)
}

// writeRecord writes a record to the event that declares it.
func (s *sink) writeRecord(o *recordEvent, r *sdklog.Record) (written bool, err error) {
	c := captures.Get().(*capture)
	if n := c.find(r, o.fields); n > 0 {
		o.unconverted.Add(n)
	}
	buf := bufpool.Get()
	b := o.Begin(*buf, s.Limit)
	o.putHead(&b, r)
	b.Text(o.body, attrs.Text(r.Body()))
	c.put(&b, o.fields)
	scope := r.InstrumentationScope()
	o.origin.Put(&b, &scope, s.Resources.Describe(r.Resource()))
	w := b.Object()
	i := 0
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		if !c.taken[i] {
			attrs.WriteJSON(&w, kv)
		}
		i++
		return true
	})
	o.origin.WriteScope(&w, &scope)
	attrs.WriteCount(&w, attrs.DroppedAttributesKey, r.DroppedAttributes())
	if text := r.SeverityText(); text != r.Severity().String() { // the number says the same in most cases
		attrs.WriteText(&w, keySeverityText, text)
	}
	b.EndObject(o.attributes, &w, attrjson.KeepAll)
	c.free()
	return o.WritePayload(&b, buf)
}

// putHead writes the fields that every event begins with.
func (s *schema) putHead(b *payload.Builder, r *sdklog.Record) {
	b.PutU64(s.At[fieldTime], typed.UnixNano(r.Timestamp()))
	b.PutU64(s.At[fieldObserved], typed.UnixNano(r.ObservedTimestamp()))
	b.PutU32(s.At[fieldSeverity], uint32(clamp(r.Severity())))
	traceID, spanID := r.TraceID(), r.SpanID()
	b.ID(s.At[fieldTraceID], traceID[:], traceID.IsValid())
	b.ID(s.At[fieldSpanID], spanID[:], spanID.IsValid())
	b.PutU8(s.At[fieldFlags], uint8(r.TraceFlags()))
}

// clamp returns a severity as the field holds it.
func clamp(s log.Severity) int32 {
	return int32(min(max(int64(s), math.MinInt32), math.MaxInt32))
}
