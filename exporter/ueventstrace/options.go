package ueventstrace

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/uevents"
)

// Encoding is how spans are written.
type Encoding uint8

const (
	// Typed gives each event fields of its own, which every tool prints and the kernel
	// filters by. It is the default.
	Typed = Encoding(component.Typed)

	// CommonSchema4 writes one event for a span when it ends, in the self-describing format
	// of LinuxTracepoints with Microsoft's Common Schema 4.0, as OpenTelemetry's exporter for
	// Rust does, for collectors made for that. Ftrace, perf script and filters do not look into it.
	// The package comment has the fields.
	//
	// The schema belongs to its vendor and changes. This constant always means the same;
	// a later version gets a constant of its own.
	CommonSchema4 = Encoding(component.CommonSchema4)
)

// Option is an option of [NewTracerProvider], [NewProcessor] and [NewExporter].
type Option func(*config)

type config struct {
	component.Config
	perfetto bool

	ownProvider bool // the options are those of NewTracerProvider
	resource    *resource.Resource
	propagates  bool
}

// WithEventProvider registers the events with a provider that the program has opened. It is borrowed:
// Shutdown leaves it open. The default is to open one with [uevents.Open] and to close it at
// Shutdown; nil means the default.
func WithEventProvider(p *uevents.Provider) Option {
	return func(c *config) { c.Provider = p }
}

// WithEncoding chooses how spans are written, by default [Typed].
func WithEncoding(e Encoding) Option {
	return func(c *config) { c.Encoding = component.Encoding(e) }
}

// WithMaxPayload limits the size of a record, in bytes; a larger one is truncated. 0, the default,
// means [uevents.MaxPayload], which every tracing tool keeps. The smaller of this limit and that of the provider
// applies. A limit that is negative, or has no room for ids, numbers and a few characters of each text, is an error of the constructor.
func WithMaxPayload(bytes int) Option {
	return func(c *config) { c.MaxPayload = bytes }
}

// WithResourceAttributes writes these attributes of the resource with every event. The
// default is none, beside service.name, which has a field of its own: a resource's
// attributes are the same in all spans of a program. Several such options add up.
func WithResourceAttributes(keys ...attribute.Key) Option {
	return func(c *config) { c.Resource = append(c.Resource, keys...) }
}

// WithPerfettoSlices adds the event NAME_slice, from which Perfetto draws a span as a slice
// beside the scheduler's events without being told how. The package comment says more.
// While that event is disabled, it adds one load and one branch to the start and to the end of a span. It is an option of
// [NewTracerProvider] and [NewProcessor]: with [NewExporter], which gets a span when it has ended, and with [CommonSchema4] it is an error.
//
// At most 65,536 slices are open. One more takes the place of the oldest one, whose end is then not written, and
// [Stats] counts it as dropped. Of the slices that are inside of one that ends, the 64 innermost ones go on, on another
// track; the others end for good and are counted as dropped, too.
func WithPerfettoSlices() Option {
	return func(c *config) { c.perfetto = true }
}

// WithResource sets the resource of [NewTracerProvider]. As in the SDK, its attributes win over those of the
// environment (OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME), which are added to it. The default, also for nil, is
// [resource.Default]. With [NewProcessor] and [NewExporter] it is an error: the resource of a span of the SDK is that of
// the SDK's provider.
func WithResource(r *resource.Resource) Option {
	return func(c *config) { c.resource = r }
}

// WithPropagation lets recorded spans of [NewTracerProvider] take part in propagation: while an event is enabled, the
// propagated span context has the ids of the span in events. Spans of several services of a machine are then one trace
// in events, each the child of its caller's, where otherwise all of them refer to the span that came in from outside.
//
// That changes what other programs see while a tracing tool is attached. Their spans have parents that no backend has
// received. A root, which propagates nothing by default, propagates a new trace id with the sampled flag 0: services
// behind it that follow their parent, as the SDK's do by default, then record nothing, where they would have decided
// themselves. The sampled flag of other spans is their caller's.
//
// With [NewProcessor] and [NewExporter] it is an error: the SDK's spans always propagate their ids.
func WithPropagation() Option {
	return func(c *config) { c.propagates = true }
}
