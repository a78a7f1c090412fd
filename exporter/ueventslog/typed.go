package ueventslog

import (
	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/internal/declared"
	"github.com/userevents/userevents-go/uevents"
)

// typedEncoder builds a typed payload behind a write index. Texts are in the order in which they
// get their room: what is short and says where a record belongs comes first, then the
// attributes, which leave as much for the body as it needs, up to half.
type typedEncoder struct {
	buf []byte
	end int // what buf may grow to
	o   *outlet
	cut int // texts and attributes cut or left out
}

const (
	// base is where the payload begins.
	base = uevents.IndexSize

	// shortShare is the part of the limit that one of the short texts takes at most, so that all of
	// them together leave something for attributes and body.
	shortShare = 10
)

// index is where the write index goes.
var index [uevents.IndexSize]byte

// appendTyped appends the write index and the payload of a record.
func (s *sink) appendTyped(buf []byte, o *outlet, r *sdklog.Record) (out []byte, cut int) {
	e := typedEncoder{buf: o.layout.Begin(append(buf, index[:]...)), end: base + s.limit, o: o}
	e.numbers(r)
	d := s.describer.Describe(r.Resource())
	scope := r.InstrumentationScope()
	e.short(o.atService, d.Service)
	e.short(o.atScope, scope.Name)
	e.short(o.atScopeVersion, scope.Version)
	e.short(o.atSeverityText, r.SeverityText())
	e.short(o.atEventName, r.EventName())
	e.resource(d)

	body := attrs.Text(r.Body())
	if o.fields == nil {
		w := e.beginAttributes(body)
		r.WalkAttributes(func(kv attribute.KeyValue) bool {
			attrs.WriteJSON(&w, kv)
			return true
		})
		leftovers(&w, o, r, &scope)
		e.endAttributes(&w)
	} else {
		c := captures.Get().(*capture)
		o.point.counts.unconverted.Add(c.find(r, o.fields))
		e.declared(c.values)
		w := e.beginAttributes(body)
		n := 0
		r.WalkAttributes(func(kv attribute.KeyValue) bool {
			if !c.taken[n] {
				attrs.WriteJSON(&w, kv)
			}
			n++
			return true
		})
		leftovers(&w, o, r, &scope)
		e.endAttributes(&w)
		c.free()
	}
	e.text(o.atBody, body, e.end-len(e.buf))
	typed.PutU32(e.buf, base+o.atTruncated, uint32(e.cut))
	return e.buf, e.cut
}

// numbers writes the fields of fixed size.
func (e *typedEncoder) numbers(r *sdklog.Record) {
	o := e.o
	typed.PutU64(e.buf, base+o.atTime, typed.UnixNano(r.Timestamp()))
	typed.PutU64(e.buf, base+o.atObserved, typed.UnixNano(r.ObservedTimestamp()))
	typed.PutU32(e.buf, base+o.atSeverity, uint32(clamp(r.Severity())))
	if id := r.TraceID(); id.IsValid() {
		e.buf = typed.AppendHex(e.buf, base, base+o.atTraceID, id[:])
	}
	if id := r.SpanID(); id.IsValid() {
		e.buf = typed.AppendHex(e.buf, base, base+o.atSpanID, id[:])
	}
	typed.PutU8(e.buf, base+o.atFlags, uint8(r.TraceFlags()))
	if o.atDropped != absent {
		typed.PutU32(e.buf, base+o.atDropped, uint32(r.DroppedAttributes()))
	}
}

func (e *typedEncoder) text(at int, s string, room int) {
	if s == "" || at == absent {
		return
	}
	var cut int
	if e.buf, cut = typed.AppendString(e.buf, base, base+at, s, room); cut > 0 {
		e.cut++
	}
}

// short writes one of the texts that say where a record belongs.
func (e *typedEncoder) short(at int, s string) {
	e.text(at, s, min((e.end-base)/shortShare, e.room()))
}

// resource writes the object of resource attributes, which has been made before.
func (e *typedEncoder) resource(d *attrs.Described) {
	if len(d.JSON) == 0 {
		return
	}
	if len(d.JSON) >= e.room() { // under a limit that is hardly enough for anything
		e.cut += len(d.Chosen)
		return
	}
	begin := len(e.buf)
	e.buf = typed.EndText(append(e.buf, d.JSON...), base, base+e.o.atResource, begin)
	e.cut += d.Dropped
}

// room returns how many bytes are left for texts if there is to be an object of attributes, too.
func (e *typedEncoder) room() int { return e.end - len(e.buf) - leastJSON }

// beginAttributes begins the object of attributes. It leaves room for the body.
func (e *typedEncoder) beginAttributes(body string) attrjson.Writer {
	room := e.room()
	if body != "" {
		room -= min(len(body)+1, room/2)
	}
	return attrjson.Begin(e.buf, room+leastJSON-1) // without the NUL
}

func (e *typedEncoder) endAttributes(w *attrjson.Writer) {
	begin := len(e.buf)
	buf, lost := w.End(attrjson.KeepAll) // the SDK has removed duplicates
	e.buf = typed.EndText(buf, base, base+e.o.atAttributes, begin)
	e.cut += lost
}

// declared writes the values of declared attributes. Texts that do not all fit are cut to equal
// shares, the object of attributes and the body being two of the sharers.
func (e *typedEncoder) declared(values []value) {
	need, room := 0, e.room()
	share := room / (e.o.texts + 2)
	for i := range values {
		if e.o.fields[i].typ == declared.String {
			need += len(values[i].text) + 1
		}
	}
	if need <= room-2*share {
		share = room
	}
	for i := range values {
		if values[i].at < 0 {
			continue
		}
		f, v := &e.o.fields[i], &values[i]
		var cut bool
		if e.buf, cut = f.typ.Put(e.buf, base, base+f.at, v.num, v.text, min(share, e.room())); cut {
			e.cut++
		}
	}
}
