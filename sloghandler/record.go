package sloghandler

import (
	"log/slog"
	"strconv"

	"github.com/userevents/userevents-go/encode/attrjson"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/bufpool"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// fields are those of every event; the package comment says what is in them.
var fields = []tracepoint.Field{
	{Name: "time_unix_nano", Type: tracepoint.Scalar(tracepoint.U64)},
	{Name: "level", Type: tracepoint.Scalar(tracepoint.S32)},
	{Name: "trace_id", Type: tracepoint.Array(tracepoint.Char, 32)},
	{Name: "span_id", Type: tracepoint.Array(tracepoint.Char, 16)},
	{Name: "truncated", Type: tracepoint.Scalar(tracepoint.U32)},
	{Name: "message", Type: tracepoint.Dynamic(tracepoint.Char)},
	{Name: "source", Type: tracepoint.Dynamic(tracepoint.Char)},
	{Name: "attributes", Type: tracepoint.Dynamic(tracepoint.Char)},
}

// Offsets of the fields in a payload.
const (
	atTime       = 0
	atLevel      = 8
	atTruncated  = 60
	atMessage    = 64
	atSource     = 68
	atAttributes = 72
)

// layout is that of all events: they differ in their names.
var layout = func() *typed.Layout {
	l, err := typed.NewLayout(declaration("any", 0))
	if err != nil {
		panic(err) // the declaration is a constant, and a test makes it
	}
	return l
}()

// leastJSON is what is kept free for the attributes: an empty object and a NUL.
const leastJSON = 3

// write encodes a record and writes it.
func (h *Handler) write(ev *uevents.Event, r *slog.Record) error {
	pooled := bufpool.Get()
	var index [uevents.IndexSize]byte
	buf := append(*pooled, index[:]...)
	buf = layout.Begin(buf)
	end := uevents.IndexSize + ev.MaxPayload()
	const base = uevents.IndexSize

	truncated := 0
	if !r.Time.IsZero() {
		typed.PutU64(buf, base+atTime, typed.UnixNano(r.Time))
	}
	typed.PutU32(buf, base+atLevel, uint32(clamp(r.Level)))
	buf, cut := typed.AppendString(buf, base+atMessage, r.Message, end-len(buf)-leastJSON)
	if cut > 0 {
		truncated++
	}
	if h.source && r.PC != 0 {
		s := r.Source()
		text := s.Function + " " + s.File + ":" + strconv.Itoa(s.Line)
		if buf, cut = typed.AppendString(buf, base+atSource, text, end-len(buf)-leastJSON); cut > 0 {
			truncated++
		}
	}
	begin := len(buf)
	w := h.attrs.Begin(buf, end-len(buf)-1)
	w.Record(r)
	buf, lost := w.End(attrjson.KeepAll)
	buf = typed.EndText(buf, base+atAttributes, begin)
	typed.PutU32(buf, base+atTruncated, uint32(truncated+lost))

	err := ev.Write(buf)
	*pooled = buf
	bufpool.Put(pooled)
	return err
}
