package ueventstrace

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/uevents"
)

// typedEncoder builds a typed payload behind a write index. Texts are in the order in which
// they get their room: what is short and says where a record belongs comes first, then the
// attributes.
type typedEncoder struct {
	buf []byte
	end int // what buf may grow to
	at  *[fieldCount]int
	cut int // texts and attributes cut or left out
}

const (
	// base is where the payload begins.
	base = uevents.IndexSize

	// shortShare is the part of the limit that one of the short texts takes at most, so that
	// all of them together leave half for the attributes.
	shortShare = 8
)

func (s *sink) begin(buf []byte, o *outlet) typedEncoder {
	return typedEncoder{buf: append(buf, o.begin...), end: base + s.limit, at: &o.at}
}

func (e *typedEncoder) u8(f field, v uint8)   { typed.PutU8(e.buf, base+e.at[f], v) }
func (e *typedEncoder) u32(f field, v int)    { typed.PutU32(e.buf, base+e.at[f], uint32(v)) }
func (e *typedEncoder) u64(f field, v uint64) { typed.PutU64(e.buf, base+e.at[f], v) }

// hex writes an id. Of one that is not valid the digits are not written: the field stays
// empty.
func (e *typedEncoder) hex(f field, id []byte, valid bool) {
	if valid {
		e.buf = typed.AppendHex(e.buf, base, base+e.at[f], id)
	}
}

// short writes one of the texts that are not the attributes.
func (e *typedEncoder) short(f field, s string) {
	if s == "" {
		return
	}
	var cut int
	if e.buf, cut = typed.AppendString(e.buf, base, base+e.at[f], s, min((e.end-base)/shortShare, e.room())); cut > 0 {
		e.cut++
	}
}

// where writes which program and which part of it a record is of.
func (e *typedEncoder) where(d *attrs.Described, scope *instrumentation.Scope) {
	e.short(serviceName, d.Service)
	e.short(scopeName, scope.Name)
	if len(d.JSON) == 0 {
		return
	}
	if len(d.JSON) >= e.room() { // under a limit that is hardly enough for anything
		e.cut += len(d.Chosen)
		return
	}
	begin := len(e.buf)
	e.buf = typed.EndText(append(e.buf, d.JSON...), base, base+e.at[resourceAttributes], begin)
	e.cut += d.Dropped
}

// room returns how many bytes are left for texts if there is to be an object of attributes,
// too.
func (e *typedEncoder) room() int { return e.end - len(e.buf) - leastJSON }

// Names that OpenTelemetry gives to what has no field of its own.
const (
	keyTraceState      = "otel.trace_state"
	keyDroppedEvents   = "otel.dropped_events_count"
	keyDroppedLinks    = "otel.dropped_links_count"
	keyScopeVersion    = "otel.scope.version"
	keyScopeSchemaURL  = "otel.scope.schema_url"
	keyScopeAttributes = "otel.scope.attributes"
)

// attributes writes the attributes, and behind them as more attributes what few records have, such as counts of dropped
// events and links.
func (e *typedEncoder) attributes(list []attribute.KeyValue, traceState string, scope *instrumentation.Scope, droppedEvents, droppedLinks int) {
	w := attrjson.Begin(e.buf, e.room()+leastJSON-1) // without the NUL
	for _, kv := range list {
		attrs.WriteJSON(&w, kv)
	}
	extra(&w, keyTraceState, traceState)
	extraCount(&w, keyDroppedEvents, droppedEvents)
	extraCount(&w, keyDroppedLinks, droppedLinks)
	extra(&w, keyScopeVersion, scope.Version)
	extra(&w, keyScopeSchemaURL, scope.SchemaURL)
	if scope.Attributes.Len() > 0 {
		w.Key(keyScopeAttributes)
		object := w.Object()
		for i := scope.Attributes.Iter(); i.Next(); {
			attrs.WriteJSON(&w, i.Attribute())
		}
		w.Close(object)
	}
	begin := len(e.buf)
	buf, lost := w.End(attrjson.KeepAll) // the SDK has removed duplicates
	e.buf = typed.EndText(buf, base, base+e.at[attributes], begin)
	e.cut += lost
}

// extra writes what is no attribute of the record as one, unless it is empty.
func extra(w *attrjson.Writer, key, text string) {
	if text != "" {
		w.Key(key)
		w.String(text)
	}
}

// extraCount is extra for a count, unless it is 0.
func extraCount(w *attrjson.Writer, key string, n int) {
	if n > 0 {
		w.Key(key)
		w.Int(int64(n))
	}
}

// finish returns the buffer to write and how many values were cut.
func (e *typedEncoder) finish() (buf []byte, cut int, err error) {
	e.u32(truncated, e.cut)
	return e.buf, e.cut, nil
}
