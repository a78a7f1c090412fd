package ueventslog

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/uevents"
)

// Encoding is how records are written.
type Encoding uint8

const (
	// Typed gives each event fields of its own, which every tool prints and the kernel
	// filters by. It is the default.
	Typed = Encoding(component.Typed)

	// CommonSchema4 writes the self-describing format of LinuxTracepoints with Microsoft's
	// Common Schema 4.0, as OpenTelemetry's exporter for Rust does since its version 0.13,
	// for collectors made for that. Ftrace, perf script and filters do not look into it.
	// The package comment has the fields.
	//
	// The schema belongs to its vendor and changes. This constant always means the same;
	// what comes later gets one of its own.
	CommonSchema4 = Encoding(component.CommonSchema4)
)

// Option is an option of [New] and [NewExporter].
type Option func(*config)

type config struct {
	component.Config
	records []Record
	naming  uevents.Naming
}

// WithProvider lets a provider of the program's own register the events. It is borrowed:
// Shutdown leaves it open. The default is to open one with [uevents.Open] and to close it at
// Shutdown; nil means the default.
func WithProvider(p *uevents.Provider) Option {
	return func(c *config) { c.Provider = p }
}

// WithEncoding chooses how records are written, by default [Typed].
func WithEncoding(e Encoding) Option {
	return func(c *config) { c.Encoding = component.Encoding(e) }
}

// WithMaxPayload limits the size of a record, in bytes; what is above is cut. 0, the default,
// means [uevents.MaxPayload], what every tracer keeps. The limit of a provider given by
// [WithProvider] counts if it is less.
func WithMaxPayload(bytes int) Option {
	return func(c *config) { c.MaxPayload = bytes }
}

// WithResourceAttributes writes these attributes of the resource with every record. The
// default is none, beside service.name, which has a field of its own: what a resource says
// is the same in all records of a program. Several such options add up.
func WithResourceAttributes(keys ...attribute.Key) Option {
	return func(c *config) { c.Resource = append(c.Resource, keys...) }
}

// WithRecords declares records; see [Record]. Several such options add up.
func WithRecords(records ...Record) Option {
	return func(c *config) { c.records = append(c.records, records...) }
}

// WithNaming sets the policy for the names of declared records' events. The default is
// [uevents.NameHashedOnConflict]: a program that was upgraded to other fields, while a tool is attached to the event of
// the old version, registers a name with a hash, which Stats shows. The events of the severities never
// change their fields.
func WithNaming(n uevents.Naming) Option {
	return func(c *config) { c.naming = n }
}
