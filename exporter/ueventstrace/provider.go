package ueventstrace

import (
	"context"
	"errors"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/uevents"
)

// TracerProvider is a [trace.TracerProvider] that writes spans as user events, without the SDK: the events of
// [NewProcessor], written when and where a span starts, gets an event or a link, and ends. While they are disabled, which Start
// checks with three loads and one branch, it returns a span that does not record. [NewTracerProvider] returns TracerProviders.
//
// Attaching a tracing tool does not change what the program propagates: SpanContext of a span is that of its caller,
// or empty, whether the span is recorded or not. The package comment lists how that differs from OpenTelemetry's API.
//
// Methods may be called concurrently, also during and after Shutdown.
type TracerProvider struct {
	embedded.TracerProvider

	processor  *Processor
	limits     sdktrace.SpanLimits
	attributes attrs.Limits // of spans: the same
	resource   *attrs.Described
	propagates bool
	tracers    component.Scopes[tracer]
}

var _ trace.TracerProvider = (*TracerProvider)(nil)

// NewTracerProvider registers the events of a provider called name, which are those of [NewProcessor]. Name and errors
// are as in NewProcessor: the provider returned is never nil and always works.
//
// The resource is the one of [WithResource]. The limits of spans are those that the environment sets for the SDK
// (OTEL_SPAN_*, OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT, OTEL_LINK_ATTRIBUTE_COUNT_LIMIT), or its defaults. Call
// [TracerProvider.Shutdown] when the program ends.
func NewTracerProvider(name string, opts ...ProviderOption) (*TracerProvider, error) {
	c := component.Apply(config{}, opts, ProviderOption.applyToProvider)
	processor, err := newProcessor(name, &c)
	res, resErr := component.ProviderResource("ueventstrace", c.resource)
	p := &TracerProvider{
		processor:  processor,
		resource:   processor.sink.Resources.Describe(res),
		propagates: c.propagates,
	}
	p.setLimits(sdktrace.NewSpanLimits())
	return p, errors.Join(err, resErr)
}

func (p *TracerProvider) setLimits(l sdktrace.SpanLimits) {
	p.limits = l
	p.attributes = attrs.Limits{Count: l.AttributeCountLimit, Length: l.AttributeValueLengthLimit, Depth: attrs.DepthLimit}
}

// Shutdown unregisters the events. Spans that start afterwards are not recorded, and spans that end afterwards are not
// written. It does not wait, so it does its work even if ctx is done, and may be called more than once.
func (p *TracerProvider) Shutdown(ctx context.Context) error { return p.processor.Shutdown(ctx) }

// ForceFlush does nothing: Start and End return when their records are written.
func (p *TracerProvider) ForceFlush(context.Context) error { return nil }

// Stats returns the counts of each event, by its name.
func (p *TracerProvider) Stats() map[string]uevents.EventStats { return p.processor.Stats() }
