package ueventslog

import (
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/commonschema"
	"github.com/userevents/userevents-go/exporter/ueventslog/internal/logattrs"
	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/eventheader"
)

// logName is the name of the events of records that are not declared, as exporters of other languages have it.
const logName = "Log"

const keyEventID = attribute.Key("event_id")

// header returns the header of the events of a range of severities.
func header[R int | uint8](r R, name string) eventheader.Header {
	return eventheader.Header{Name: name, Level: rangeLevels[r]}
}

// writeCommonSchema writes a record to the tracepoint of its severity, under the name that a declaration gives it.
func (s *sink) writeCommonSchema(event *eventset.Event, in uint8, declaration *recordEvent, d *recordData, a logattrs.Attributes) error {
	h := header(in, logName)
	if declaration != nil {
		h.Name = declaration.name
	}
	buf := bufpool.Get()
	out, truncated, err := s.appendCommonSchema(*buf, &h, d, a)
	return event.WriteEncoded(out, truncated, err, buf)
}

// appendCommonSchema appends the write index and the payload of a record in the Common Schema: the parts A, about its
// context, B, what makes it a log record, and C, what the program added.
func (s *sink) appendCommonSchema(buf []byte, h *eventheader.Header, d *recordData, a logattrs.Attributes) (out []byte, truncated int, err error) {
	e := commonschema.Begin(buf, h, s.Limit)
	commonschema.PartA(e, timeOf(d), d.traceID, d.spanID, d.flags, d.resource)
	appendPartB(e, d, a)
	appendPartC(e, d, a)
	return commonschema.End(e)
}

func appendPartB(e *eventheader.Encoder, d *recordData, a logattrs.Attributes) {
	e.BeginStruct("PartB")
	e.String("_typeName", "Log")
	switch body := d.body; body.Type() {
	case attribute.EMPTY:
	case attribute.BOOL:
		e.Bool("body", body.AsBool())
	case attribute.INT64:
		e.Int64("body", body.AsInt64())
	case attribute.FLOAT64:
		e.Float64("body", body.AsFloat64())
	default:
		e.String("body", attrs.TextOfBounded(body))
	}
	e.Value("severityNumber", eventheader.TypeInt16, uint64(uint16(clamp(d.severity))))
	commonschema.Text(e, "severityText", d.severityText)
	a.Walk(func(kv attribute.KeyValue) bool {
		if isEventID(kv) {
			e.Int64("eventId", kv.Value.AsInt64())
		}
		return !isEventID(kv)
	})
	if strings.TrimSpace(d.eventName) != "" {
		e.String("name", d.eventName)
	}
	e.EndStruct()
}

func leastPartB(e *eventheader.Encoder) { appendPartB(e, &recordData{}, logattrs.Attributes{}) }

func isEventID(kv attribute.KeyValue) bool {
	return kv.Key == keyEventID && kv.Value.Type() == attribute.INT64
}

// appendPartC appends attributes, and what the exporter for Rust has no place for. A struct without fields is left out.
func appendPartC(e *eventheader.Encoder, d *recordData, a logattrs.Attributes) {
	var own commonschema.Own
	own.Origin(&d.scope, d.resource)
	own.Count(attrs.DroppedAttributesKey, a.Dropped())
	e.BeginStruct("PartC")
	own.Write(e)
	a.Walk(func(kv attribute.KeyValue) bool {
		if !isEventID(kv) && !own.Has(kv.Key) {
			attrs.WriteField(e, kv)
		}
		return true
	})
	e.EndStruct()
}

func timeOf(d *recordData) time.Time {
	for _, t := range [...]time.Time{d.timestamp, d.observed} {
		if !t.IsZero() {
			return t
		}
	}
	return time.Now()
}
