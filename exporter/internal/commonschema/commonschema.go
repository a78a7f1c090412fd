// Package commonschema encodes log records and spans in Microsoft's Common Schema 4.0: the parts that both share.
package commonschema

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/truncate"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

const version = 0x400

// Keywords of events. Log records have the keyword of other languages' exporters. A keyword is part of the tracepoint's
// name, so spans and log records of one provider and level have separate tracepoints.
const (
	KeywordLogs  = 1
	KeywordSpans = 4
)

// Register registers the tracepoint of events with a keyword, a header and a part B. Errors are those of
// [eventset.Set.Register] and [CheckLimit].
func Register(set *eventset.Set, provider string, keyword uint64, h eventheader.Header, partB func(*eventheader.Encoder), groups ...*uevents.Group) (*eventset.Event, error) {
	name := eventheader.Name{Provider: provider, Level: h.Level, Keyword: keyword}
	d, err := name.Declaration()
	if err != nil {
		d = tracepoint.Declaration{Name: name.String()}
	} else {
		err = CheckLimit(set.Limit, h, partB)
	}
	return set.RegisterDeclaration(d, err, groups...)
}

// CheckLimit returns an error if payloads of at most limit bytes have no space for the header, a time and ids, the
// smallest part B, and a text of [truncate.Short] bytes.
func CheckLimit(limit int, h eventheader.Header, partB func(*eventheader.Encoder)) error {
	e := Begin(nil, &h, 0)
	PartA(e, time.Unix(0, 1), trace.TraceID{1}, trace.SpanID{1}, trace.FlagsSampled, &attrs.Described{})
	partB(e)
	e.String("text", strings.Repeat("x", truncate.Short))
	e.Value(eventheader.TruncatedField, eventheader.TypeUnsigned32, 0)
	buf, _, err := End(e)
	if least := len(buf) - uevents.IndexSize; err == nil && limit < least {
		err = fmt.Errorf("a limit of %d bytes is too small: the event takes at least %d", limit, least)
	}
	return err
}

// encoders pools encoders, which keep their buffers.
var encoders = sync.Pool{New: func() any { return new(eventheader.Encoder) }}

// Begin starts an event after the write index in buf. Call [End] next.
func Begin(buf []byte, h *eventheader.Header, limit int) *eventheader.Encoder {
	e := encoders.Get().(*eventheader.Encoder)
	var index [uevents.IndexSize]byte
	e.Begin(append(buf, index[:]...), h, limit)
	e.Value("__csver__", eventheader.TypeUnsigned32, version)
	return e
}

// End returns the buffer to write, and how many values were cut or dropped. The encoder must not be used afterwards.
func End(e *eventheader.Encoder) (buf []byte, truncated int, err error) {
	buf, err = e.End()
	truncated = e.Lost()
	encoders.Put(e)
	return buf, truncated, err
}

// PartA writes the context of a record. It omits invalid ids, and flags if none is set.
func PartA(e *eventheader.Encoder, at time.Time, traceID trace.TraceID, spanID trace.SpanID, flags trace.TraceFlags, d *attrs.Described) {
	e.BeginStruct("PartA")
	Time(e, "time", at)
	if traceID.IsValid() {
		ID(e, "ext_dt_traceId", traceID[:])
	}
	if spanID.IsValid() {
		ID(e, "ext_dt_spanId", spanID[:])
	}
	if flags != 0 {
		e.Value("ext_dt_traceFlags", eventheader.TypeUnsigned32, uint64(flags))
	}
	Text(e, "ext_cloud_role", d.Service)
	Text(e, "ext_cloud_roleInstance", d.Instance)
	e.EndStruct()
}

// Text writes a text, unless it is empty.
func Text(e *eventheader.Encoder, name, text string) {
	if text != "" {
		e.String(name, text)
	}
}

// Count writes a count, unless it is 0.
func Count(e *eventheader.Encoder, name string, n int) {
	if n > 0 {
		e.Int64(name, int64(n))
	}
}

// ID writes the hex digits of an id.
func ID(e *eventheader.Encoder, name string, id []byte) {
	var digits [2 * len(trace.TraceID{})]byte
	e.String(name, string(hex.AppendEncode(digits[:0], id)))
}

// Time writes a time in RFC 3339; see appendTime.
func Time(e *eventheader.Encoder, name string, t time.Time) {
	var text [40]byte
	e.String(name, string(appendTime(text[:0], t)))
}

// appendTime appends a time in RFC 3339. Its fraction has 0, 3, 6 or 9 digits, as few as possible.
func appendTime(dst []byte, t time.Time) []byte {
	layout := "2006-01-02T15:04:05Z"
	switch ns := t.Nanosecond(); {
	case ns%1000 != 0:
		layout = "2006-01-02T15:04:05.000000000Z"
	case ns%1_000_000 != 0:
		layout = "2006-01-02T15:04:05.000000Z"
	case ns != 0:
		layout = "2006-01-02T15:04:05.000Z"
	}
	return t.UTC().AppendFormat(dst, layout)
}

// Own holds the fields of part C that are not attributes of the record: selected attributes of the resource, the scope,
// and values without a field elsewhere. Create it before the attributes are written: an attribute with the name of such
// a field is omitted, since decoders would find the field twice. Write it before them: if fields must be dropped to
// make a record fit, these are the last ones.
//
// Own lives on the stack.
type Own struct {
	resource []attribute.KeyValue
	scope    attribute.Set
	fields   [maxOwn]ownField
	n        int
}

// ownField is a text, or else a count, or else true. An attribute.KeyValue takes more room, which is cleared for each
// record.
type ownField struct {
	name  attribute.Key
	text  string
	count int
}

// maxOwn is the largest number of fields that spans have besides those of the resource. Log records have fewer.
const maxOwn = 11

func (o *Own) add(f ownField) {
	o.fields[o.n] = f
	o.n++
}

// Origin adds the origin of a record.
func (o *Own) Origin(scope *instrumentation.Scope, d *attrs.Described) {
	o.resource, o.scope = d.Chosen, scope.Attributes
	o.Text(attrs.ScopeNameKey, scope.Name)
	o.Text(attrs.ScopeVersionKey, scope.Version)
	o.Text(attrs.ScopeSchemaURLKey, scope.SchemaURL)
}

// Text adds a text, unless it is empty.
func (o *Own) Text(name attribute.Key, text string) {
	if text != "" {
		o.add(ownField{name: name, text: text})
	}
}

// Count adds a count, unless it is 0.
func (o *Own) Count(name attribute.Key, n int) {
	if n > 0 {
		o.add(ownField{name: name, count: n})
	}
}

// True adds a boolean, unless it is false.
func (o *Own) True(name attribute.Key, v bool) {
	if v {
		o.add(ownField{name: name})
	}
}

// Has reports whether there is a field of that name.
func (o *Own) Has(name attribute.Key) bool {
	if len(o.resource) > 0 && slices.ContainsFunc(o.resource, func(kv attribute.KeyValue) bool { return kv.Key == name }) {
		return true
	}
	return attrs.IsReserved(name) && (slices.ContainsFunc(o.fields[:o.n], func(f ownField) bool { return f.name == name }) ||
		name == attrs.ScopeAttributesKey && o.scope.Len() > 0)
}

// Write writes the fields.
func (o *Own) Write(e *eventheader.Encoder) {
	for i := range o.fields[:o.n] {
		switch f := &o.fields[i]; {
		case f.text != "":
			e.String(string(f.name), f.text)
		case f.count != 0:
			e.Int64(string(f.name), int64(f.count))
		default:
			e.Bool(string(f.name), true)
		}
	}
	for _, kv := range o.resource {
		attrs.WriteField(e, kv)
	}
	if o.scope.Len() > 0 {
		e.BeginStruct(attrs.ScopeAttributesKey)
		for i := o.scope.Iter(); i.Next(); {
			attrs.WriteField(e, i.Attribute())
		}
		e.EndStruct()
	}
}
