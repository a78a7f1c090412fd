package ueventsmetric

import (
	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/uevents"
)

// encoder builds the payload of a point behind a write index. Texts are in the order in which
// they get their room: what is short and says where a point belongs comes first, then the
// attributes, which leave as much for lists of buckets as they need, up to half.
type encoder struct {
	buf []byte
	end int // what buf may grow to
	o   *outlet
	cut int // texts, lists and attributes cut or left out

	zeroThreshold float64 // of an exponential histogram; an attribute unless it is 0
}

const (
	// base is where the payload begins.
	base = uevents.IndexSize

	// shortShare is the part of the room that one of the short texts takes at most, so that all of
	// them together leave half of it for attributes and buckets.
	shortShare = 10

	leastJSON = len("{}\x00")
)

// index is where the write index goes.
var index [uevents.IndexSize]byte

// begin begins a payload in which everything is zero or empty.
func (e *encoder) begin(o *outlet) {
	e.buf = o.layout.Begin(append(e.buf[:0], index[:]...))
	e.end, e.o, e.cut, e.zeroThreshold = base+o.limit, o, 0, 0
}

// origin writes what the points of a metric have in common. It leaves room for ids and numbers.
func (e *encoder) origin(x *export) {
	short := (e.o.limit - e.o.layout.FixedSize() - e.o.sized) / shortShare
	e.text(serviceName, x.service, short)
	e.text(scopeName, x.scope.Name, short)
	e.text(scopeVersion, x.scope.Version, short)
	e.text(name, x.metric.Name, short)
	e.text(unit, x.metric.Unit, short)
}

// finish returns the buffer to write.
func (e *encoder) finish() []byte {
	e.putU32(truncated, uint32(e.cut))
	return e.buf
}

// room returns how many bytes are left for texts if there is to be an object of attributes, too.
func (e *encoder) room() int { return e.end - len(e.buf) - leastJSON }

func (e *encoder) text(f field, s string, room int) {
	if s == "" || e.o.at[f] == absent {
		return
	}
	var cut int
	if e.buf, cut = typed.AppendString(e.buf, base, base+e.o.at[f], s, room); cut > 0 {
		e.cut++
	}
}

func (e *encoder) putU8(f field, v uint8)   { typed.PutU8(e.buf, base+e.o.at[f], v) }
func (e *encoder) putU32(f field, v uint32) { typed.PutU32(e.buf, base+e.o.at[f], v) }
func (e *encoder) putU64(f field, v uint64) { typed.PutU64(e.buf, base+e.o.at[f], v) }

// putID writes an id of so many bytes. One of another length is none.
func (e *encoder) putID(f field, id []byte, size int) {
	if len(id) == size {
		e.buf = typed.AppendHex(e.buf, base, base+e.o.at[f], id)
	}
}

func (e *encoder) endObject(f field, w *attrjson.Writer) {
	begin := len(e.buf)
	buf, lost := w.End(attrjson.KeepAll) // a set has no duplicates
	e.buf = typed.EndText(buf, base, base+e.o.at[f], begin)
	e.cut += lost
}
