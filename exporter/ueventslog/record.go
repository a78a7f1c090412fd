package ueventslog

import (
	"context"
	"log/slog"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/eventspan"
	"github.com/userevents/userevents-go/exporter/ueventslog/internal/logattrs"
	"github.com/userevents/userevents-go/internal/adapter/declared"
	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

// recordData is what events say of a log record, whether the SDK has made it or a [LoggerProvider]. It lives on the
// stack: writers neither keep it nor let it escape.
type recordData struct {
	timestamp, observed     time.Time
	severity                log.Severity
	severityText, eventName string
	body                    attribute.Value // not deeper than attrs.MaxDepth: the SDK has no limit for bodies
	traceID                 trace.TraceID
	spanID                  trace.SpanID
	flags                   trace.TraceFlags
	scope                   instrumentation.Scope
	resource                *attrs.Described
	known                   *attrs.Known // the same as scope and resource, or nil
}

func (d *recordData) setContext(c trace.SpanContext) {
	d.traceID, d.spanID, d.flags = c.TraceID(), c.SpanID(), c.TraceFlags()
}

// setEventSpan sets the ids that the span of ctx has in events, if they are others than those that the SDK has taken of
// it. A processor may have changed these meanwhile: then they stay.
func (d *recordData) setEventSpan(ctx context.Context) {
	span := trace.SpanFromContext(ctx)
	other := eventspan.Of(ctx, span)
	if other == nil {
		return
	}
	if c := span.SpanContext(); d.traceID == c.TraceID() && d.spanID == c.SpanID() {
		d.setContext(other.EventSpanContext())
	}
}

// fill takes what a record of the SDK says, but for its resource.
func (d *recordData) fill(r *sdklog.Record) {
	d.timestamp, d.observed = r.Timestamp(), r.ObservedTimestamp()
	d.severity, d.severityText, d.eventName = r.Severity(), r.SeverityText(), r.EventName()
	d.body = attrs.Bounded(r.Body())
	d.traceID, d.spanID, d.flags = r.TraceID(), r.SpanID(), r.TraceFlags()
	d.scope = r.InstrumentationScope()
}

func (d *recordData) putOrigin(b *payload.Builder, o *attrs.Origin) {
	if d.known != nil {
		o.PutKnown(b, d.known)
	} else {
		o.Put(b, &d.scope, d.resource)
	}
}

// maxFields is more than a declaration of 511 bytes has room for.
const maxFields = 48

// values are those of the declared fields of a record. They live on the stack.
type values [maxFields]struct {
	attribute int // its number, from 1 on; 0 without a value
	num       uint64
	text      string
}

// match finds the values of fields. It returns how many attributes have values that cannot be converted; they stay attributes.
func (v *values) match(a logattrs.Attributes, fields []declared.Field) (unconverted uint64) {
	n := 0
	a.Walk(func(kv attribute.KeyValue) bool {
		n++
		for i := range fields {
			f := &fields[i]
			if string(kv.Key) != f.Alias && string(kv.Key) != f.Key {
				continue
			}
			if num, text, ok := f.Convert(neutral(kv.Value)); ok {
				v[i].attribute, v[i].num, v[i].text = n, num, text
			} else {
				unconverted++
			}
			break
		}
		return true
	})
	return unconverted
}

func (v *values) has(attribute, n int) bool {
	for i := range v[:n] {
		if v[i].attribute == attribute {
			return true
		}
	}
	return false
}

// neutral returns a value as package declared knows it. It has no lists and maps.
func neutral(v attribute.Value) slog.Value {
	switch v.Type() {
	case attribute.BOOL:
		return slog.BoolValue(v.AsBool())
	case attribute.INT64:
		return slog.Int64Value(v.AsInt64())
	case attribute.FLOAT64:
		return slog.Float64Value(v.AsFloat64())
	case attribute.STRING:
		return slog.StringValue(v.AsString())
	default:
		return slog.Value{}
	}
}

// The fields that every typed event begins with. Docs/wire-formats.md describes all fields.
const (
	fieldTime = iota
	fieldObserved
	fieldSeverity
	fieldTraceID
	fieldSpanID
	fieldFlags
	fieldTruncated
	headFields
)

// The fields behind them in the events of severities.
const (
	fieldDuplicate = headFields + iota
	fieldDropped
	fieldSeverityText
	fieldEventName
)

var (
	head = []payload.Field{
		fieldTime:      {Name: "time_unix_nano", Type: payload.U64},
		fieldObserved:  {Name: "observed_time_unix_nano", Type: payload.U64},
		fieldSeverity:  {Name: "severity_number", Type: payload.S32},
		fieldTraceID:   payload.TraceID,
		fieldSpanID:    payload.SpanID,
		fieldFlags:     {Name: "trace_flags", Type: payload.U8},
		fieldTruncated: payload.Truncated,
	}
	body = payload.TextField("body")
)

// schema is the layout of an event's payloads.
type schema struct {
	*payload.Schema
	origin attrs.Origin

	// Offsets of fields that are not in the same place in all events.
	body, attributes int
}

// severitySchema is that of the events of all severities.
var severitySchema = newSchema(payload.MustSchema(slices.Concat(head, []payload.Field{
	{Name: "duplicate", Type: payload.U8},
	{Name: "dropped_attributes_count", Type: payload.U32},
	payload.TextField("severity_text"),
	payload.TextField("event_name"),
	body,
	attrs.ScopeName, attrs.ScopeVersion, attrs.ServiceName, attrs.Resource, payload.Attributes,
})...))

// The fields of the event of a declared record, before and behind the declared ones. The declaration of an event is 511 bytes at
// most, so there are no fields for what only a few records have; see [sink.writeRecord].
var (
	recordHead = append(slices.Clone(head), body)
	recordTail = []payload.Field{attrs.ScopeName, attrs.ServiceName, attrs.Resource, payload.Attributes}
)

// newSchema returns the schema of an event with a body and attributes, which come last.
func newSchema(s *payload.Schema) *schema {
	bodyAt := slices.IndexFunc(s.Layout.Declaration().Fields, func(f tracepoint.Field) bool { return f.Name == body.Name })
	return &schema{Schema: s, origin: attrs.NewOrigin(s), body: s.At[bodyAt], attributes: s.At[len(s.At)-1]}
}

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

func clamp(s log.Severity) int32 {
	return int32(min(max(int64(s), math.MinInt32), math.MaxInt32))
}
