package reader

import (
	"strings"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
)

// otlpMetrics is the layout of the tracepoint that OpenTelemetry's metrics exporters of several languages use.
var otlpMetrics = &layout{
	kind: KindMetric, point: PointOTLP,
	numbers: []string{"protocol"},
	texts:   []string{"version"},
	bytes:   []string{"buffer"},
	fields: map[string]setter{
		"protocol": number64(func(*Event, uint64) {}),
		"version":  {text: func(*Event, []byte) bool { return true }},
		"buffer": {array: func(ev *Event, b []byte) bool {
			ev.Point.Request = b
			return true
		}},
	},
	applies: isProtobuf,
}

const protobuf = 0 // the protocol

// isProtobuf reports whether a record holds OTLP as protobuf: its version is then v0.19.00, for every version of OTLP.
func isProtobuf(r typed.Record) bool {
	protocol, _ := r.Lookup("protocol")
	version, _ := r.Lookup("version")
	return protocol.Uint64() == protobuf && strings.HasPrefix(stringOf(version.Bytes()), "v0.")
}

func isBytes(t tracepoint.Type) bool {
	return t.Kind == tracepoint.U8 && (t.Len > 0 || t.Location != tracepoint.Fixed)
}
