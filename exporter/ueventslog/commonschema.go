package ueventslog

import (
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/commonschema"
)

const (
	// logName is the name of the events that no record declares, as exporters of other
	// languages have it.
	logName = "Log"
	// keyword is that of all events, for the same reason.
	keyword = 1

	schemaVersion = 0x400
	keyEventID    = attribute.Key("event_id")
)

var (
	typeVersion  = eventheader.TypeOf(eventheader.Value32, eventheader.FormatUnsigned)
	typeSeverity = eventheader.TypeInt16
)

// encoders are reused, since they keep buffers.
var encoders = sync.Pool{New: func() any { return new(eventheader.Encoder) }}

// appendCommonSchema appends the write index and the payload of a record in the Common Schema:
// the parts A, about its context, C, what the program added, and B, what makes it a log record.
func (s *sink) appendCommonSchema(buf []byte, o *outlet, r *sdklog.Record) (out []byte, cut int, err error) {
	e := encoders.Get().(*eventheader.Encoder)
	e.Begin(append(buf, index[:]...), &o.header, s.limit)
	d := s.describer.Describe(r.Resource())
	e.Value("__csver__", typeVersion, schemaVersion)
	appendPartA(e, r, d)
	// An encoder leaves out fields that come when there is no room even for their names. It must not be
	// the body that many attributes leave no room for.
	if crowded := s.limit / 2; sizeOfKeys(r) < crowded {
		appendPartC(e, r, d)
		appendPartB(e, r)
	} else {
		appendPartB(e, r)
		appendPartC(e, r, d)
	}
	out, err = e.End()
	cut = e.Lost()
	encoders.Put(e)
	return out, cut, err
}

// sizeOfKeys returns about how many bytes attributes take if their values are cut as far as an
// encoder does.
func sizeOfKeys(r *sdklog.Record) (n int) {
	const least = 32 + 2 + 3 // a text with its length, and the type
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		n += len(kv.Key) + least
		return true
	})
	return n
}

func appendPartA(e *eventheader.Encoder, r *sdklog.Record, d *attrs.Described) {
	e.BeginStruct("PartA")
	var text [40]byte
	e.String("time", string(commonschema.AppendTime(text[:0], timeOf(r))))
	if id := r.TraceID(); id.IsValid() {
		e.String("ext_dt_traceId", string(hex.AppendEncode(text[:0], id[:])))
	}
	if id := r.SpanID(); id.IsValid() {
		e.String("ext_dt_spanId", string(hex.AppendEncode(text[:0], id[:])))
	}
	if d.Service != "" {
		e.String("ext_cloud_role", d.Service)
	}
	if d.Instance != "" {
		e.String("ext_cloud_roleInstance", d.Instance)
	}
	e.EndStruct()
}

func appendPartB(e *eventheader.Encoder, r *sdklog.Record) {
	e.BeginStruct("PartB")
	e.String("_typeName", "Log")
	switch body := r.Body(); body.Type() {
	case attribute.EMPTY:
	case attribute.BOOL:
		e.Bool("body", body.AsBool())
	case attribute.INT64:
		e.Int64("body", body.AsInt64())
	case attribute.FLOAT64:
		e.Float64("body", body.AsFloat64())
	default:
		e.String("body", attrs.Text(body))
	}
	e.Value("severityNumber", typeSeverity, uint64(uint16(clamp(r.Severity()))))
	if s := r.SeverityText(); s != "" {
		e.String("severityText", s)
	}
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		if isEventID(kv) {
			e.Int64("eventId", kv.Value.AsInt64())
		}
		return !isEventID(kv)
	})
	if name := r.EventName(); strings.TrimSpace(name) != "" {
		e.String("name", name)
	}
	e.EndStruct()
}

func isEventID(kv attribute.KeyValue) bool {
	return kv.Key == keyEventID && kv.Value.Type() == attribute.INT64
}

// appendPartC appends attributes, and what the exporter for Rust has no place for. A struct
// without fields is left out.
func appendPartC(e *eventheader.Encoder, r *sdklog.Record, d *attrs.Described) {
	e.BeginStruct("PartC")
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		if !isEventID(kv) {
			attrs.WriteField(e, kv)
		}
		return true
	})
	for _, kv := range d.Chosen {
		attrs.WriteField(e, kv)
	}
	scope := r.InstrumentationScope()
	for _, s := range [...]struct{ key, text string }{
		{keyScopeName, scope.Name},
		{keyScopeVersion, scope.Version},
		{keyScopeSchemaURL, scope.SchemaURL},
	} {
		if s.text != "" {
			e.String(s.key, s.text)
		}
	}
	if scope.Attributes.Len() > 0 {
		e.BeginStruct(keyScopeAttributes)
		for i := scope.Attributes.Iter(); i.Next(); {
			attrs.WriteField(e, i.Attribute())
		}
		e.EndStruct()
	}
	if n := r.DroppedAttributes(); n > 0 {
		e.Int64(keyDropped, int64(n))
	}
	e.EndStruct()
}

// timeOf returns the time that a record is written with.
func timeOf(r *sdklog.Record) time.Time {
	if t := r.Timestamp(); !t.IsZero() {
		return t
	}
	if t := r.ObservedTimestamp(); !t.IsZero() {
		return t
	}
	return time.Now()
}
