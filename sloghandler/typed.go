package sloghandler

import (
	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/declared"
	"github.com/userevents/userevents-go/uevents"
)

// typedEncoder builds a typed payload behind a write index. Texts are in the order in which they
// get their room: what is short and says where a record belongs comes first, then the
// attributes, which leave as much for the message as it needs, up to half.
type typedEncoder struct {
	buf []byte
	end int // what buf may grow to
	o   *outlet
	cut int // texts and attributes cut or left out
}

// base is where the payload begins.
const base = uevents.IndexSize

// begin lets e, which is zero, begin a payload of limit bytes at most behind a write index.
func (e *typedEncoder) begin(buf []byte, limit int, o *outlet, hd *head) {
	buf = append(buf, o.begin...)
	e.buf, e.end, e.o = buf, base+limit, o
	typed.PutU64(buf, base+o.atTime, hd.time)
	typed.PutU32(buf, base+o.atLevel, uint32(hd.level))
	if hd.traceID != [16]byte{} {
		e.buf = typed.AppendHex(e.buf, base, base+o.atTraceID, hd.traceID[:])
	}
	if hd.spanID != [8]byte{} {
		e.buf = typed.AppendHex(e.buf, base, base+o.atSpanID, hd.spanID[:])
	}
}

// room returns how many bytes are left for a text if there is to be an object of attributes, too.
func (e *typedEncoder) room() int { return e.end - len(e.buf) - leastJSON }

func (e *typedEncoder) text(at int, s string, room int) {
	var cut int
	if e.buf, cut = typed.AppendString(e.buf, base, base+at, s, room); cut > 0 {
		e.cut++
	}
}

func (e *typedEncoder) source(s string) {
	if s != "" {
		e.text(e.o.atSource, s, e.room()/2)
	}
}

// attributesLimit is the room for the object of attributes. It leaves some for a message of n bytes.
func (e *typedEncoder) attributesLimit(n int) int {
	room := e.room() + leastJSON - 1 // without the NUL
	if n == 0 {
		return room
	}
	return room - min(n+1, room/2)
}

func (e *typedEncoder) endAttributes(w *attrjson.Writer, d attrjson.Duplicates) {
	begin := len(e.buf)
	buf, lost := w.End(d)
	e.buf = typed.EndText(buf, base, base+e.o.atAttributes, begin)
	e.cut += lost
}

// walked writes the attributes that are not in fields of their own.
func (e *typedEncoder) walked(w *walk, message int, d attrjson.Duplicates) {
	json := attrjson.Begin(e.buf, e.attributesLimit(message))
	w.json(&json)
	e.endAttributes(&json, d)
	e.cut += w.lost
}

func (e *typedEncoder) message(s string) {
	if s != "" && e.o.atMessage >= 0 {
		e.text(e.o.atMessage, s, e.end-len(e.buf))
	}
}

// declared writes the values of declared attributes. Texts that do not all fit are cut to equal shares,
// the object of attributes being one of the sharers.
func (e *typedEncoder) declared(values []value) {
	need, room := 0, e.room()
	share := room / (e.o.texts + 1)
	for i := range values {
		if e.o.fields[i].typ == declared.String {
			need += len(values[i].text) + 1
		}
	}
	if need <= room-share {
		share = room
	}
	for i := range values {
		if values[i].item < 0 {
			continue
		}
		f, v := &e.o.fields[i], &values[i]
		var cut bool
		if e.buf, cut = f.typ.Put(e.buf, base, base+f.at, v.num, v.text, min(share, e.room())); cut {
			e.cut++
		}
	}
}

// finish returns the buffer to write and how many values were cut.
func (e *typedEncoder) finish() (buf []byte, cut int) {
	typed.PutU32(e.buf, base+e.o.atTruncated, uint32(e.cut))
	return e.buf, e.cut
}
