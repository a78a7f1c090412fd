package ueventstrace

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/uevents"
)

// Option is an option of all constructors, but has no effect where its comment names others. A nil option is ignored.
type Option func(*config)

type config struct {
	component.Config
	perfetto bool

	// Of NewTracerProvider.
	resource   *resource.Resource
	propagates bool
}

// WithProvider registers the events with a provider that the caller owns: Shutdown leaves it open. By default, or
// with nil, the constructor opens one with [uevents.Open], which Shutdown closes.
func WithProvider(p *uevents.Provider) Option {
	return func(c *config) { c.Provider = p }
}

// WithCommonSchema4 writes one event for a span when it ends, in the self-describing format of LinuxTracepoints with
// Microsoft's Common Schema 4.0, as OpenTelemetry's exporter for Rust does, for collectors made for that. Ftrace, perf
// script and filters do not look into it. docs/wire-formats.md has the fields. The default are typed events, which every
// tool prints and the kernel filters by.
//
// The schema belongs to its vendor and changes. This option always means the same; a later version gets an option of its
// own.
func WithCommonSchema4() Option {
	return func(c *config) { c.CommonSchema4 = true }
}

// WithMaxPayload limits the size of a record, in bytes; larger ones are truncated: see docs/wire-formats.md. 0, the
// default, means [tracepoint.MaxPayload], which every tracing tool keeps. If the provider has a smaller limit, that one
// applies. A limit that is negative, or that has no room for ids, numbers and a few characters of each text, is an error
// of the constructor.
func WithMaxPayload(bytes int) Option {
	return func(c *config) { c.MaxPayload = bytes }
}

// WithResourceAttributes writes the attributes of the resource that have these keys with every record. By default
// only service.name is written, which has a field of its own: a resource is the same in all records of a program.
// Several such options add up.
func WithResourceAttributes(keys ...attribute.Key) Option {
	return func(c *config) { c.Resource = append(c.Resource, keys...) }
}

// WithPerfettoSlices is for [NewProcessor] and [NewTracerProvider]. It adds the event NAME_slice, from which Perfetto draws a span as a slice
// beside the scheduler's events without being told how. It is written when a span starts (B) and when it ends (E).
//
// The field scope_track selects the track, since goroutines move between threads: a span is on its parent's track if no sibling is open there, and
// on one of its own otherwise. In Perfetto, E ends the slice that began last on its track, so a span that outlives its parent is drawn in two
// pieces, the second one on a track of its own. A span that starts while the event is disabled has no slice.
//
// While that event is disabled, it adds one load and one branch to the start and to the end of a span. With [WithCommonSchema4]
// it is an error of the constructor.
//
// At most 65,536 slices are open. One more takes the place of the oldest one, whose end is then not written, and
// the counts of the event have it as refused. Of the slices that are inside of one that ends, the 64 innermost ones go on, on another
// track; the others end for good and are counted as refused, too.
func WithPerfettoSlices() Option {
	return func(c *config) { c.perfetto = true }
}

// WithResource sets the resource of [NewTracerProvider]. As in the SDK, its attributes win over those of the environment
// (OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME), which are added to it. The default, also for nil, is
// [resource.Default]. The resource of a span of the SDK is that of the SDK's provider.
func WithResource(r *resource.Resource) Option {
	return func(c *config) { c.resource = r }
}

// WithPropagation lets the recorded spans of [NewTracerProvider] take part in propagation: while an event is enabled, the
// propagated span context has the ids of the span in events. Spans of several services of a machine are then one trace
// in events, each the child of its caller's, where otherwise all of them refer to the span that came in from outside.
//
// That changes what other programs see while a tracing tool is attached. Their spans have parents that no backend has
// received. A root, which propagates nothing by default, propagates a new trace id with the sampled flag: services
// behind it that follow their parent, as the SDK's do by default, then record and export all of its spans, where they would
// have decided themselves. The sampled flag of other spans is their caller's.
//
// The SDK's spans always propagate their ids.
func WithPropagation() Option {
	return func(c *config) { c.propagates = true }
}
