package ueventslog

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
	declarations []AnyDeclaration
	naming       uevents.Naming

	resource *resource.Resource // of NewLoggerProvider
}

// WithProvider registers the events with a provider that the caller owns: Shutdown leaves it open. By default, or
// with nil, the constructor opens one with [uevents.Open], which Shutdown closes.
func WithProvider(p *uevents.Provider) Option {
	return func(c *config) { c.Provider = p }
}

// WithCommonSchema4 writes the self-describing format of LinuxTracepoints with Microsoft's Common Schema 4.0, as OpenTelemetry's
// exporter for Rust does since its version 0.13, for collectors made for that. Ftrace, perf script and filters do not look into
// it. docs/wire-formats.md has the fields. The default are typed events, which every tool prints and by which the kernel filters.
//
// The schema belongs to its vendor and changes. This option always means the same; a later version gets an option of its own.
func WithCommonSchema4() Option {
	return func(c *config) { c.CommonSchema4 = true }
}

// WithMaxPayload limits the size of a record, in bytes; larger ones are truncated: see docs/wire-formats.md. 0, the
// default, means [tracepoint.MaxPayload], which every tracing tool keeps. If the provider has a smaller limit, that one
// applies. A limit that is negative or too small for the fixed fields is an error of the constructor.
func WithMaxPayload(bytes int) Option {
	return func(c *config) { c.MaxPayload = bytes }
}

// WithResourceAttributes writes the attributes of the resource that have these keys with every record. By default
// only service.name is written, which has a field of its own: a resource is the same in all records of a program.
// Several such options add up.
func WithResourceAttributes(keys ...attribute.Key) Option {
	return func(c *config) { c.Resource = append(c.Resource, keys...) }
}

// WithResource sets the resource of [NewLoggerProvider]. As in the SDK, its attributes win over those of the environment
// (OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME), which are added to it. The default, also for nil, is
// [resource.Default]. The resource of a record of the SDK is that of the SDK's provider.
func WithResource(r *resource.Resource) Option {
	return func(c *config) { c.resource = r }
}

// WithDeclarations declares records; see [Declare]. Several such options add up.
func WithDeclarations(list ...AnyDeclaration) Option {
	return func(c *config) { c.declarations = append(c.declarations, list...) }
}

// WithNaming sets the policy for the names of declared records' events. The default is [uevents.NameHashedOnConflict]: if a
// program is upgraded to other fields while a tool is attached to the event of the old version, it registers a name with a hash,
// which Stats shows. The fields of the severities' events never change.
func WithNaming(n uevents.Naming) Option {
	return func(c *config) { c.naming = n }
}
