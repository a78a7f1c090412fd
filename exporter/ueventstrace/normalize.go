package ueventstrace

import (
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

// normalizeAttribute gives an attribute of a span the form that the SDK gives it: texts of limited length, maps of limited
// depth without duplicate keys.
func normalizeAttribute(a *attribute.KeyValue, limits *sdktrace.SpanLimits) {
	if t := a.Value.Type(); t == attribute.SLICE || t == attribute.MAP {
		a.Value, _ = attrs.Nested(a.Value, limits.AttributeValueDepthLimit)
	}
	if length := limits.AttributeValueLengthLimit; length >= 0 {
		a.Value, _ = attrs.Shortened(a.Value, length)
	}
}

// isNormal reports whether an attribute certainly has that form. Most have.
func isNormal(a *attribute.KeyValue, limits *sdktrace.SpanLimits) bool {
	t := a.Value.Type()
	return t != attribute.SLICE && t != attribute.MAP && limits.AttributeValueLengthLimit < 0
}

// normalizeNested gives attributes of events, links and scopes the form that the SDK gives them: it limits the depth of
// maps and removes their duplicate keys.
func normalizeNested(list []attribute.KeyValue, depth int) {
	for i := range list {
		list[i].Value, _ = attrs.Nested(list[i].Value, depth)
	}
}
