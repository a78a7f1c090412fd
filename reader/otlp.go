package reader

import (
	"strings"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
)

// otlpMetrics is the layout of the tracepoint that OpenTelemetry's exporters of several languages share.
var otlpMetrics = &layout{
	kind: Metric, point: OTLP,
	numbers: []string{"protocol"},
	texts:   []string{"version"},
	bytes:   []string{"buffer"},
	fields: map[string]setter{
		"protocol": func(ev *Event, v typed.Value) bool { return v.Uint64() == protobuf },
		"version":  func(ev *Event, v typed.Value) bool { return strings.HasPrefix(stringOf(v.Bytes()), "v0.") },
		"buffer": func(ev *Event, v typed.Value) bool {
			ev.Point.Request = v.Bytes()
			return true
		},
	},
	finish: finishOTLP,
}

const protobuf = 0 // the protocol

// finishOTLP makes an event that has other fields than OTLP as protobuf an event like any other.
func finishOTLP(_ *Decoder, ev *Event) {
	if len(ev.Fields) == 0 {
		return
	}
	ev.Fields = append(ev.Fields, Field{"buffer", BytesValue(ev.Point.Request)})
	ev.Kind, ev.Point = Other, nil
}

func isBytes(t tracepoint.Type) bool {
	return t.Kind == tracepoint.U8 && (t.Len > 0 || t.Location != tracepoint.Fixed)
}
