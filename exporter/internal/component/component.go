// Package component is what the processors and exporters have in common below the interfaces of the SDK: options,
// events, the description of the resource, the rate of errors, metrics about themselves, and shutdown.
package component

import (
	"context"
	"errors"
	"fmt"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/report"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/internal/eventset"
	"github.com/userevents/userevents-go/uevents"
)

// Component is a processor or an exporter: OpenTelemetry's noun for both. Methods may be called concurrently once the
// events are registered and [Component.Publish] was called.
type Component struct {
	*eventset.Set
	*report.Reporter

	// All is that of the set: here, the check that comes first takes one load less.
	All *uevents.Group

	// Encoding is the one that was asked for, or Typed if there is no such encoding.
	Encoding Encoding

	// Resources describes the resources of providers.
	Resources *attrs.Describer

	name          string
	stopPublished func() error
}

// Open opens a component of a package: the events whose names begin with name. What is wrong with the arguments is an
// error of [Component.Publish].
func Open(pkg, name string, c Config) Component {
	set := eventset.Open(pkg, name, c.Options)
	if c.Encoding >= encodings {
		set.Invalid(fmt.Errorf("unknown encoding %d: use Typed or CommonSchema4", c.Encoding))
		c.Encoding = Typed
	}
	return Component{
		Set:           set,
		Reporter:      report.New(pkg),
		All:           set.All,
		Encoding:      c.Encoding,
		Resources:     attrs.NewDescriber(c.Resource, set.Limit),
		name:          name,
		stopPublished: func() error { return nil },
	}
}

// Publish publishes what read returns as metrics, if the environment asks for them. Call it when all events are
// registered. It returns all errors since [Open]; the component is usable nevertheless.
func (c *Component) Publish(kind selfobs.Component, read func() eventset.Stats) error {
	stop, err := kind.Publish(c.name, read)
	c.stopPublished = stop
	if err != nil {
		err = c.Prefix(err)
	}
	return errors.Join(c.Err(), err)
}

// Export calls write for each of n records, until ctx is done or the component is closed. A record that cannot be
// written does not keep the others from being written. The error is shutdown once the component is closed, or that of
// ctx, or that of the first record if its turn has come, see [report.Reporter]. Records are called what, such as
// spans.
func (c *Component) Export(ctx context.Context, n int, what string, shutdown error, write func(i int) error) error {
	if n == 0 {
		return c.stopped(ctx, shutdown)
	}
	var first error
	failed := 0
	for i := range n {
		if err := c.stopped(ctx, shutdown); errors.Is(err, shutdown) {
			return err
		} else if err != nil {
			return c.Prefix(fmt.Errorf("%d of %d %s were not written: %w", n-i, n, what, err))
		}
		if err := write(i); err != nil {
			failed++
			if first == nil {
				first = err
			}
		}
	}
	if first == nil {
		return nil
	}
	return c.Report(fmt.Errorf("%d of %d %s: %w", failed, n, what, first))
}

// stopped returns why nothing is going to be written any more, or nil. A context that is nil is never done.
func (c *Component) stopped(ctx context.Context, shutdown error) error {
	if c.Closed() {
		return shutdown
	}
	if ctx == nil {
		return nil
	}
	return ctx.Err()
}

// Close unregisters the events and ends the publication of metrics. It does not wait, and may be called more than
// once.
func (c *Component) Close() error { return errors.Join(c.stopPublished(), c.Set.Close()) }
