package ueventstrace

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/uevents"
)

// Encoding is how spans are written.
type Encoding uint8

const (
	// Typed gives each event fields of its own, which every tool prints and the kernel
	// filters by. It is the default.
	Typed Encoding = iota

	// CommonSchema4 writes one event for a span when it ends, in the self-describing format
	// of LinuxTracepoints with Microsoft's Common Schema 4.0, as OpenTelemetry's exporter for
	// Rust does, for collectors made for that. Ftrace, perf script and filters do not look into it.
	// The package comment has the fields.
	//
	// The schema belongs to its vendor and changes. This constant always means the same;
	// what comes later gets one of its own.
	CommonSchema4

	encodings
)

// Option is an option of [New] and [NewExporter].
type Option interface{ apply(config) config }

type optionFunc func(config) config

func (f optionFunc) apply(c config) config { return f(c) }

type config struct {
	provider   *uevents.Provider
	encoding   Encoding
	maxPayload int
	resource   []attribute.Key
	perfetto   bool
}

func newConfig(opts []Option) (c config) {
	for _, o := range opts {
		if o != nil {
			c = o.apply(c)
		}
	}
	return c
}

// WithProvider lets a provider of the program's own register the events. It is borrowed:
// Shutdown leaves it open. The default is to open one with [uevents.Open] and to close it at
// Shutdown; nil means the default.
func WithProvider(p *uevents.Provider) Option {
	return optionFunc(func(c config) config {
		c.provider = p
		return c
	})
}

// WithEncoding chooses how spans are written, by default [Typed].
func WithEncoding(e Encoding) Option {
	return optionFunc(func(c config) config {
		c.encoding = e
		return c
	})
}

// WithMaxPayload limits the size of an event, in bytes; what is above is cut. 0, the default,
// means [uevents.MaxPayload], what every tracer keeps. The limit of a provider given by
// [WithProvider] counts if it is less.
func WithMaxPayload(bytes int) Option {
	return optionFunc(func(c config) config {
		c.maxPayload = bytes
		return c
	})
}

// WithResourceAttributes writes these attributes of the resource with every event. The
// default is none, beside service.name, which has a field of its own: what a resource says
// is the same in all spans of a program. Several such options add up.
func WithResourceAttributes(keys ...attribute.Key) Option {
	return optionFunc(func(c config) config {
		c.resource = append(slices.Clip(c.resource), keys...)
		return c
	})
}

// WithPerfettoSlices adds the event NAME_slice, from which Perfetto draws a span as a slice
// beside the scheduler's events without being told how. The package comment says more.
// Whoever does not trace that event pays nothing for it. It does not go with
// [CommonSchema4].
func WithPerfettoSlices() Option {
	return optionFunc(func(c config) config {
		c.perfetto = true
		return c
	})
}
