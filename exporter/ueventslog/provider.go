package ueventslog

import (
	"errors"

	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/log/embedded"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/exporter/ueventslog/internal/logattrs"
)

// LoggerProvider is a [log.LoggerProvider] that writes log records as user events, without the SDK. The events are
// those of [NewProcessor], with the same content. Emit writes a record before it returns. When no event of a record is
// enabled, Enabled and Emit of a logger return after three loads and one branch.
//
// Methods may be called concurrently, also during and after Shutdown.
type LoggerProvider struct {
	embedded.LoggerProvider

	events
	limits   attrs.Limits
	resource *attrs.Described
	loggers  component.Scopes[logger]
}

var _ log.LoggerProvider = (*LoggerProvider)(nil)

// NewLoggerProvider registers the events of a provider called name, which are those of [NewProcessor]. Name and errors
// are as in NewProcessor: the provider is never nil and always works.
//
// The resource is that of [WithResource]. The limits of records are those that the environment sets for the SDK
// (OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT, OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT), or its defaults: 128 attributes
// with values of any length. Call [LoggerProvider.Shutdown] when the program ends.
func NewLoggerProvider(name string, opts ...ProviderOption) (*LoggerProvider, error) {
	c := component.Apply(config{}, opts, ProviderOption.applyToProvider)
	s, err := newSink(name, selfobs.LogProcessor, &c)
	res, resErr := component.ProviderResource("ueventslog", c.resource)
	p := &LoggerProvider{events: events{s}, limits: logattrs.LimitsFromEnvironment(), resource: s.Resources.Describe(res)}
	return p, errors.Join(err, resErr)
}
