package otlp

import (
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// EventName is the name of the event. All exporters of a machine share it, whatever their
// program and language.
const EventName = "otlp_metrics"

const (
	protocolProtobuf = 0 // the protocol field: OTLP as protobuf

	// version is what decoders look for. It is not the version of OTLP in use today, and has no
	// NUL: it fills its field.
	version = "v0.19.00"
)

// layout is that of the event's payloads.
var layout = func() *typedfield.Layout {
	l, err := typedfield.NewLayout(tracepoint.Declaration{Name: EventName, Fields: []tracepoint.Field{
		{Name: "protocol", Type: tracepoint.Scalar(tracepoint.U32)},
		{Name: "version", Type: tracepoint.Array(tracepoint.Char, len(version))},
		{Name: "buffer", Type: tracepoint.Type{Kind: tracepoint.U8, Location: tracepoint.RelLoc}},
	}})
	if err != nil {
		panic(err) // the declaration is a constant, and a test registers it
	}
	return l
}()

// Offsets in a buffer for the kernel, which begins with the write index.
var (
	atProtocol = uevents.IndexSize + layout.Offsets()[0]
	atVersion  = uevents.IndexSize + layout.Offsets()[1]
	atBuffer   = uevents.IndexSize + layout.Offsets()[2]
	atRequest  = uevents.IndexSize + layout.FixedSize()
)

// begin returns the start of an event: everything up to the request.
func begin(dst []byte) []byte {
	dst = layout.Begin(append(dst[:0], make([]byte, uevents.IndexSize)...))
	typedfield.PutU32(dst, atProtocol, protocolProtobuf)
	copy(dst[atVersion:], version)
	return dst
}

// end writes where the request is: right behind its location, and all that follows the fixed fields.
func end(buf []byte) { typedfield.PutU32(buf, atBuffer, uint32(len(buf)-atRequest)<<16) }
