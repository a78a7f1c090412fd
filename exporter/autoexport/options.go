package autoexport

import (
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
)

// Option is an option of [Setup].
type Option func(*config)

type config struct {
	resource *resource.Resource
	traces   []ueventstrace.ProcessorOption
	logs     []ueventslog.Option
	metrics  []ueventsmetric.Option
}

// WithResource adds attributes to the resource of all signals. They win over those of the environment: service.name set
// here is the name of the service, and that of its events, whatever OTEL_SERVICE_NAME says. The base is
// [resource.Default]. Of several such options, the last one counts. Nil means the default, no attributes.
//
//	autoexport.WithResource(resource.NewSchemaless(semconv.ServiceName("shop")))
func WithResource(r *resource.Resource) Option {
	return func(c *config) { c.resource = r }
}

// WithTraceOptions passes options to package ueventstrace, for spans as user events. Several such options add up. The resource is
// that of this package's [WithResource].
func WithTraceOptions(opts ...ueventstrace.ProcessorOption) Option {
	return func(c *config) { c.traces = append(c.traces, opts...) }
}

// WithLogOptions passes options to package ueventslog, for log records as user events. Several such options add up. The
// resource is that of this package's [WithResource].
func WithLogOptions(opts ...ueventslog.Option) Option {
	return func(c *config) { c.logs = append(c.logs, opts...) }
}

// WithMetricOptions passes options to package ueventsmetric, for metrics as user events. Several such options add up.
func WithMetricOptions(opts ...ueventsmetric.Option) Option {
	return func(c *config) { c.metrics = append(c.metrics, opts...) }
}
