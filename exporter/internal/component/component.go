// Package component has the parts of processors and exporters below the SDK's interfaces: options, events, descriptions
// of resources, the rate of errors, self-observability metrics, and shutdown.
package component

import (
	"errors"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/report"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/internal/eventset"
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
