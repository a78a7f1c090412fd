package sloghandler

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/encode/text"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/internal/declared"
	"github.com/userevents/userevents-go/internal/payload"
)

const (
	// logName is the name of the events that no record declares. It is not Log, which consumers of the Common Schema take for
	// an event in that layout.
	logName = "slog"
	// keyword is that of all events. It is not 1, which is that of events in the Common Schema by convention: a tool that
	// enables these does not get records that it cannot read, and a ueventslog exporter of the same name has tracepoints of its own.
	keyword = 2
)

// encoders are reused, since they keep buffers.
var encoders = sync.Pool{New: func() any { return new(eventheader.Encoder) }}

// checkLimit returns an error if the limit has no room for the fields that a record of the header has beside its attributes, with a mark
// for each text: those of a declaration, or a message.
func (s *sink) checkLimit(h *eventheader.Header, own []field) error {
	hd := head{time: 1, message: text.CutMark}
	if s.traceContext != nil {
		hd.traceID, hd.spanID = [16]byte{1}, [8]byte{1}
	}
	if s.sources != nil {
		hd.source = text.CutMark
	}
	var e eventheader.Encoder
	e.Begin(nil, h, eventheader.MaxLimit)
	appendHead(&e, &hd, own == nil)
	for i := range own {
		appendDeclared(&e, &own[i], &value{text: text.CutMark})
	}
	fields, err := e.End()
	if err != nil {
		return err
	}
	e.Begin(nil, h, eventheader.MaxLimit)
	none, err := e.End()
	if least := h.MinLimit(0) + len(fields) - len(none); err == nil && s.limit < least {
		return fmt.Errorf("a limit of %d bytes is too small: the event takes at least %d", s.limit, least)
	}
	return err
}

// appendHead appends the fields of a record beside its attributes.
func appendHead(e *eventheader.Encoder, hd *head, message bool) {
	if hd.time != 0 {
		e.Uint64("time_unix_nano", hd.time)
	}
	e.Value("level", eventheader.TypeInt32, uint64(hd.level))
	if hd.traceID != [16]byte{} {
		var digits [32]byte
		hex.Encode(digits[:], hd.traceID[:])
		e.Identifier("trace_id", string(digits[:]))
	}
	if hd.spanID != [8]byte{} {
		var digits [16]byte
		hex.Encode(digits[:], hd.spanID[:])
		e.Identifier("span_id", string(digits[:]))
	}
	if message {
		e.String("message", hd.message)
	}
	if hd.source != "" {
		e.String("source", hd.source)
	}
}

// appendDeclared appends the value of a declared attribute.
func appendDeclared(e *eventheader.Encoder, f *field, v *value) {
	switch f.Type {
	case declared.String:
		e.String(f.Name, v.text)
	case declared.Float64:
		e.Float64(f.Name, math.Float64frombits(v.num))
	case declared.Bool:
		e.Bool(f.Name, v.num != 0)
	case declared.Uint8:
		e.Value(f.Name, eventheader.TypeUint8, v.num)
	case declared.Uint16:
		e.Value(f.Name, eventheader.TypeUint16, v.num)
	case declared.Uint32:
		e.Value(f.Name, eventheader.TypeUint32, v.num)
	case declared.Int32:
		e.Value(f.Name, eventheader.TypeInt32, v.num)
	case declared.Int64, declared.Duration:
		e.Int64(f.Name, int64(v.num))
	case declared.Uint64, declared.Time:
		e.Uint64(f.Name, v.num)
	}
}

// writeIndex is where the write index goes.
var writeIndex [payload.Base]byte

// writeHeader writes a record with the encoding [EventHeader]: to its level's event, under the name of its declaration if
// it has one.
func (rec *record) writeHeader(o *output) error {
	header := &o.header
	if rec.own != nil {
		header = &rec.own.headers[o.levels]
	}
	hd := rec.filled()
	buf := bufpool.Get()
	e := encoders.Get().(*eventheader.Encoder)
	e.Begin(append(*buf, writeIndex[:]...), header, rec.h.limit)
	appendHead(e, &hd, rec.own == nil)
	if rec.own != nil {
		for i := range rec.own.fields {
			if v := &rec.settled.values[i]; v.leaf > 0 {
				appendDeclared(e, &rec.own.fields[i], v)
			}
		}
	}
	e.Protect()
	e.BeginStruct("attributes")
	p := appender{e: e, dropped: rec.dropped}
	p.attrs(rec.context)
	p.open(rec.bound.steps)
	if rec.call != nil {
		rec.call.Attrs(func(a slog.Attr) bool {
			p.attr(a)
			return true
		})
	}
	p.attrs(rec.more)
	e.Drop(p.dropped)
	out, err := e.End()
	truncated := e.Lost()
	encoders.Put(e)
	return o.event.WriteEncoded(out, truncated, err, buf)
}

// appender appends attributes as they come, by the rules for a slog.Handler.
type appender struct {
	e       *eventheader.Encoder
	entered int // groups that were walked into
	dropped int
}

func (p *appender) attr(a slog.Attr) {
	v := a.Value
	kind := v.Kind()
	if kind == slog.KindLogValuer {
		v = v.Resolve()
		kind = v.Kind()
	}
	switch {
	case kind != slog.KindGroup:
		if kind != slog.KindAny || a.Key != "" || v.Any() != nil {
			p.dropped += appendValue(p.e, a.Key, kind, v)
		}
		return
	case len(v.Group()) == 0:
		return
	}
	if p.entered++; p.entered > maxEntered {
		p.dropped++
		return
	}
	if a.Key != "" {
		p.e.BeginStruct(a.Key)
	}
	p.attrs(v.Group())
	if a.Key != "" {
		p.e.EndStruct()
	}
}

// open appends what the handler adds. Groups stay open.
func (p *appender) open(s *step) {
	if s == nil {
		return
	}
	p.open(s.before)
	if s.group != "" {
		p.e.BeginStruct(s.group)
	}
	p.attrs(s.attrs)
}

func (p *appender) attrs(list []slog.Attr) {
	for _, a := range list {
		p.attr(a)
	}
}

// appendValue appends an attribute that is no group. It returns how many values in it were dropped since they are too deep.
func appendValue(e *eventheader.Encoder, key string, kind slog.Kind, v slog.Value) (dropped int) {
	switch kind {
	case slog.KindString:
		e.String(key, v.String())
	case slog.KindInt64:
		e.Int64(key, v.Int64())
	case slog.KindUint64:
		e.Uint64(key, v.Uint64())
	case slog.KindFloat64:
		e.Float64(key, v.Float64())
	case slog.KindBool:
		e.Bool(key, v.Bool())
	case slog.KindDuration:
		e.Int64(key, int64(v.Duration()))
	case slog.KindTime:
		// In UTC it is short enough for a buffer on the stack.
		var buf [40]byte
		e.String(key, string(v.Time().UTC().AppendFormat(buf[:0], time.RFC3339Nano)))
	default:
		return appendAny(e, key, v.Any())
	}
	return 0
}

// appendAny appends a value that has a type of its own in the format, or else is a text of JSON.
func appendAny(e *eventheader.Encoder, key string, v any) (dropped int) {
	if appendSlice(e, key, v) {
		return 0
	}
	// What is no JSON text comes back as a plain kind.
	frozen, dropped := frozenValue(v)
	if raw, ok := frozen.Any().(json.RawMessage); ok {
		e.JSON(key, string(raw))
	} else if frozen.Kind() == slog.KindAny {
		e.Null(key)
	} else {
		appendValue(e, key, frozen.Kind(), frozen)
	}
	return dropped
}
