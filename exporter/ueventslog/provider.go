package ueventslog

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/log/embedded"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/uevents"
)

// LoggerProvider is a [log.LoggerProvider] that writes log records as user events, without the SDK. The events are
// those of [NewProcessor], with the same content. Emit writes a record before it returns. When no event of a record is
// enabled, Enabled and Emit of a logger return after one load and one branch. [NewLoggerProvider] returns
// LoggerProviders.
//
// Methods may be called concurrently, also during and after Shutdown.
type LoggerProvider struct {
	embedded.LoggerProvider

	sink     *sink
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
	p := &LoggerProvider{sink: s, limits: limitsFromEnvironment(), resource: s.Resources.Describe(res)}
	return p, errors.Join(err, resErr)
}

// Shutdown unregisters the events. Afterwards loggers are never enabled, and Emit does nothing. It does not wait, so it
// does its work even if ctx is done, and may be called more than once.
func (p *LoggerProvider) Shutdown(context.Context) error {
	return p.sink.Close()
}

// ForceFlush does nothing: every record has been written when Emit returns.
func (p *LoggerProvider) ForceFlush(context.Context) error { return nil }

// Stats returns the counts of each event, by its name.
func (p *LoggerProvider) Stats() map[string]uevents.EventStats {
	return p.sink.Stats()
}
