// Package component has the parts of processors and exporters below the SDK's interfaces: options, events, descriptions
// of resources, the rate of errors, self-observability metrics, and shutdown.
package component

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/report"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/internal/adapter/eventset"
	"github.com/userevents/userevents-go/uevents"
)

// Component is a processor or an exporter, in OpenTelemetry's terms. Methods may be called concurrently after the
// events are registered and [Component.Publish] was called.
type Component struct {
	*eventset.Set
	*report.Reporter

	// All is Set.All. A copy here saves the first check a load.
	All *uevents.Group

	// CommonSchema4 selects that encoding in place of typed events.
	CommonSchema4 bool

	// Resources describes the resources of providers.
	Resources *attrs.Describer

	name          string
	stopPublished func() error
}

// Open opens a component of a package. The names of its events begin with name. [Component.Publish] returns the errors
// of invalid arguments.
func Open(pkg, name string, c Config) Component {
	set := eventset.Open(pkg, name, c.Options)
	return Component{
		Set:           set,
		Reporter:      report.New(pkg),
		All:           set.All,
		CommonSchema4: c.CommonSchema4,
		Resources:     attrs.NewDescriber(c.Resource, set.Limit),
		name:          name,
		stopPublished: func() error { return nil },
	}
}

// Publish publishes the counts of read as metrics if the environment enables them. Call it when all events are
// registered. It returns all errors since [Open]; the component remains usable.
func (c *Component) Publish(kind selfobs.Component, read func() uevents.EventStats) error {
	stop, err := kind.Publish(c.name, read)
	c.stopPublished = stop
	if err != nil {
		err = c.Prefix(err)
	}
	return errors.Join(c.Err(), err)
}

// Close unregisters the events and stops publishing metrics. It does not wait, and may be called more than once.
func (c *Component) Close() error { return errors.Join(c.stopPublished(), c.Set.Close()) }

// Config holds the options that exporters share. The configuration of each package embeds it.
type Config struct {
	eventset.Options

	CommonSchema4 bool
	Resource      []attribute.Key // keys of the resource attributes to write with each record
}

// Apply applies options to a configuration and returns it. It ignores nil options.
func Apply[C any, O ~func(*C)](c C, options []O) C {
	for _, option := range options {
		if option != nil {
			option(&c)
		}
	}
	return c
}

// ProviderResource returns the resource of a provider of a package. As in the SDK, attributes from the program override
// those from the environment. Without any, it returns the SDK's default.
func ProviderResource(pkg string, set *resource.Resource) (*resource.Resource, error) {
	if set == nil {
		return resource.Default(), nil
	}
	res, err := resource.Merge(resource.Environment(), set)
	if err != nil {
		err = fmt.Errorf("%s: the resource of WithResource and that of the environment: %w", pkg, err)
	}
	return res, err
}

// WithoutNil returns the options that are not nil: OpenTelemetry's functions panic on nil options.
func WithoutNil[O comparable](options []O) []O {
	var none O
	if !slices.Contains(options, none) {
		return options
	}
	return slices.DeleteFunc(slices.Clone(options), func(o O) bool { return o == none })
}

// Batch is the state of one call of an exporter's Export: its progress and its error. [Component.Batch] creates it.
type Batch struct {
	component *Component
	ctx       context.Context
	what      string
	written   int
	failed    int
	stopped   error // the error of the context after it is done
	err       error // of the first record that failed
}

// Batch begins a call of Export. A nil context is never done. Errors use what as the name of the records, such as
// spans.
func (c *Component) Batch(ctx context.Context, what string) Batch {
	return Batch{component: c, ctx: ctx, what: what}
}

// Stopped reports whether the context is done, or was in an earlier call. The exporter then writes no more records.
func (b *Batch) Stopped() bool {
	if b.stopped == nil && b.ctx != nil {
		b.stopped = b.ctx.Err()
	}
	return b.stopped != nil
}

// Wrote counts records that are complete.
func (b *Batch) Wrote(records int) { b.written += records }

// Fail counts records that cannot be written.
func (b *Batch) Fail(records int, err error) {
	b.failed += records
	if b.err == nil {
		b.err = err
	}
}

// End returns the error of Export: shutdown if the component is closed, else the context's error if it stopped the
// export, joined with the error of the first failed record if [report.Reporter] allows one.
func (b *Batch) End(shutdown error) error {
	c := b.component
	if c.Closed() {
		return shutdown
	}
	var errs []error
	if b.stopped != nil {
		errs = append(errs, c.Prefix(fmt.Errorf("stopped after %d %s: %w", b.written, b.what, b.stopped)))
	}
	if b.err != nil {
		errs = append(errs, c.Report(fmt.Errorf("%d %s were not written: %w", b.failed, b.what, b.err)))
	}
	return errors.Join(errs...)
}

// Export calls write for each of n records, until ctx is done or the component is closed. After a record that cannot be
// written, it continues with the others. Errors are those of [Batch.End].
func (c *Component) Export(ctx context.Context, n int, what string, shutdown error, write func(i int) error) error {
	b := c.Batch(ctx, what)
	if n == 0 {
		b.Stopped() // without records, the context may still be done
	}
	for i := 0; i < n && !c.Closed() && !b.Stopped(); i++ {
		if err := write(i); err != nil {
			b.Fail(1, err)
		} else {
			b.Wrote(1)
		}
	}
	return b.End(shutdown)
}
