package autoexport

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/internal/processcontext"
)

// WithoutProcessContext stops [Setup] from publishing the resource as OpenTelemetry's process context. Use it if another library of the
// program publishes one: Setup cannot replace that. OpenTelemetry's error handler gets the error if it cannot publish, also because the resource has more
// than 64 KiB, or a filter of system calls refuses memfd_create or madvise.
func WithoutProcessContext() Option {
	return func(c *config) { c.noProcessContext = true }
}

// publish publishes the resource, unless an option forbids it. An error is none of [Setup]: everything works without.
func (p *providers) publish() {
	if p.noProcessContext {
		return
	}
	published, err := processcontext.Publish(convert(p.resource.Attributes(), attributeOf))
	if err != nil {
		otel.Handle(fmt.Errorf("autoexport: the resource is not published: %w", err))
	}
	p.shutdowns = append(p.shutdowns, func(context.Context) error { return published.Close() })
}

func attributeOf(kv attribute.KeyValue) processcontext.Attribute {
	v, _ := attrs.Nested(kv.Value, attrs.DepthLimit)
	return processcontext.Attribute{Key: string(kv.Key), Value: valueOf(v)}
}

func valueOf(v attribute.Value) any {
	switch v.Type() {
	case attribute.BOOLSLICE:
		return convert(v.AsBoolSlice(), func(b bool) any { return b })
	case attribute.INT64SLICE:
		return convert(v.AsInt64Slice(), func(n int64) any { return n })
	case attribute.FLOAT64SLICE:
		return convert(v.AsFloat64Slice(), func(f float64) any { return f })
	case attribute.STRINGSLICE:
		return convert(v.AsStringSlice(), func(s string) any { return s })
	case attribute.SLICE:
		return convert(v.AsSlice(), valueOf)
	case attribute.MAP:
		return convert(v.AsMap(), attributeOf)
	default:
		return v.AsInterface()
	}
}

func convert[T, R any](list []T, f func(T) R) []R {
	converted := make([]R, len(list))
	for i, v := range list {
		converted[i] = f(v)
	}
	return converted
}
