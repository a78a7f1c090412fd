// Package component is what the processors and exporters have in common below the interfaces of the SDK: options,
// events, the description of the resource, the rate of errors, metrics about themselves, and shutdown.
package component

import (
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

// Close unregisters the events and ends the publication of metrics. It does not wait, and may be called more than
// once.
func (c *Component) Close() error { return errors.Join(c.stopPublished(), c.Set.Close()) }
