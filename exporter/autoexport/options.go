package autoexport

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/uevents"
)

// Option is an option of [Setup] and [EventName].
type Option func(*config)

type config struct {
	resource  *resource.Resource
	eventName string
	exporters string // of signals whose variable is empty
	events    *uevents.Provider
	traces    []ueventstrace.Option
	logs      []ueventslog.Option
	metrics   []ueventsmetric.Option

	noProcessContext bool
}

// newConfig returns the configuration of options and the environment. The error is about the resource, which is complete.
func newConfig(opts []Option) (c config, err error) {
	c = component.Apply(c, opts)
	environment, envErr := resource.Merge(resource.Default(), resource.Environment()) // the default keeps what it was at first
	c.resource, err = resource.Merge(environment, c.resource)
	if err = errors.Join(envErr, err); err != nil {
		err = fmt.Errorf("autoexport: %w", err)
	}
	c.eventName = eventName(cmp.Or(c.eventName, serviceName(c.resource)))
	return c, err
}

// WithDefaultExporters names the exporters of each signal whose variable is empty, as the variable does. The default is otlp. An exporter that
// the program registers with OpenTelemetry's autoexport needs the variable.
//
//	autoexport.WithDefaultExporters("user_events")
func WithDefaultExporters(names ...string) Option {
	return func(c *config) { c.exporters = strings.Join(names, ",") }
}

// WithEventName sets the beginning of the names of events, which stays the same whatever the environment calls the service.
// The package comment says how it becomes a valid name. The default, also for an empty name, is the name of the service.
func WithEventName(name string) Option {
	return func(c *config) { c.eventName = name }
}

// WithProvider registers the events with a provider that the program has opened. It is borrowed: the function that Setup
// returns leaves it open. The default, also for nil, is one for all signals, which Setup opens with [uevents.Open] and that
// function closes.
func WithProvider(p *uevents.Provider) Option {
	return func(c *config) { c.events = p }
}

// WithPropagation lets spans that are recorded as user events alone take part in propagation while a tool is attached, as
// ueventstrace.WithPropagation says: services behind this one then record every trace that begins here. With other exporters
// it has no effect: the SDK's spans always propagate their ids.
func WithPropagation() Option {
	return func(c *config) { c.traces = append(c.traces, ueventstrace.WithPropagation()) }
}

// WithResource adds attributes to the resource of all signals. They win over those of the environment: service.name set
// here is the name of the service, and that of its events, whatever OTEL_SERVICE_NAME says. The base is
// [resource.Default]. Of several such options, the last one counts. Nil means the default, no attributes.
//
//	autoexport.WithResource(resource.NewSchemaless(semconv.ServiceName("shop")))
func WithResource(r *resource.Resource) Option {
	return func(c *config) { c.resource = r }
}

// WithTraceOptions passes options to package ueventstrace, for spans as user events. Several such options add up. The provider of
// events is that of this package's [WithProvider].
func WithTraceOptions(opts ...ueventstrace.Option) Option {
	return func(c *config) { c.traces = append(c.traces, opts...) }
}

// WithLogOptions is WithTraceOptions for package ueventslog and log records.
func WithLogOptions(opts ...ueventslog.Option) Option {
	return func(c *config) { c.logs = append(c.logs, opts...) }
}

// WithMetricOptions is WithTraceOptions for package ueventsmetric and metrics.
func WithMetricOptions(opts ...ueventsmetric.Option) Option {
	return func(c *config) { c.metrics = append(c.metrics, opts...) }
}

// maxName is how long a name may be for the declarations of all events to fit the kernel's limit.
const maxName = 52

// EventName returns the beginning of the names of the events that [Setup] registers with the same options. A handler of package
// sloghandler that has it too has events beside those of spans:
//
//	events, err := sloghandler.New(autoexport.EventName(opts...), nil)
func EventName(opts ...Option) string {
	c, _ := newConfig(opts) // Setup returns the error
	return c.eventName
}

// eventName returns the beginning of the names of a service's events.
func eventName(service string) string {
	name := typed.FieldName(service)
	if len(name) > maxName {
		h := fnv.New32a()
		h.Write([]byte(service))
		name = fmt.Sprintf("%s_%08x", name[:maxName-len("_01234567")], h.Sum32())
	}
	return name
}

// serviceName returns service.name of a resource, or if it is empty what the SDK calls a service without a name.
func serviceName(r *resource.Resource) string {
	if v, ok := r.Set().Value("service.name"); ok && v.AsString() != "" {
		return v.AsString()
	}
	executable, err := os.Executable()
	if err != nil {
		executable = "go"
	}
	return "unknown_service:" + filepath.Base(executable)
}
