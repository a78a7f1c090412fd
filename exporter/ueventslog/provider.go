package ueventslog

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/log/embedded"
	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/eventspan"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/exporter/ueventslog/internal/logattrs"
	"github.com/userevents/userevents-go/uevents"
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
func NewLoggerProvider(name string, opts ...Option) (*LoggerProvider, error) {
	c := component.Apply(config{}, opts)
	s, err := newSink(name, selfobs.LogProcessor, &c)
	res, resErr := component.ProviderResource("ueventslog", c.resource)
	p := &LoggerProvider{events: events{s}, limits: logattrs.LimitsFromEnvironment(), resource: s.Resources.Describe(res)}
	return p, errors.Join(err, resErr)
}

type logger struct {
	embedded.Logger

	all      *uevents.Group // of the sink: the check that comes first takes two loads less
	provider *LoggerProvider
	scope    instrumentation.Scope
	known    *attrs.Known // what records say of scope and resource, or nil
}

// Logger returns the logger of an instrumentation scope. Loggers are kept, up to a number that programs with fixed
// names do not reach: to ask for one again does not allocate.
func (p *LoggerProvider) Logger(name string, options ...log.LoggerOption) log.Logger {
	scope := instrumentation.Scope{Name: name}
	if len(options) > 0 {
		c := log.NewLoggerConfig(component.WithoutNil(options)...)
		scope.Version, scope.SchemaURL, scope.Attributes = c.InstrumentationVersion(), c.SchemaURL(), c.InstrumentationAttributes()
	}
	if l := p.loggers.Get(scope); l != nil {
		return l
	}
	return p.loggers.Add(scope, newLogger(p, scope))
}

// newLogger returns a logger. Its scope has the attributes that the SDK would give it.
func newLogger(p *LoggerProvider, scope instrumentation.Scope) *logger {
	list := slices.DeleteFunc(scope.Attributes.ToSlice(), func(kv attribute.KeyValue) bool { return !kv.Valid() })
	list = attrs.LimitedDepth(list, attrs.DepthLimit)
	scope.Attributes = attribute.NewSet(list...)
	l := &logger{all: p.sink.All, provider: p, scope: scope}
	if scope.Version == "" { // which some events have no field for
		l.known = attrs.NewKnown(&l.scope, p.resource, p.sink.Limit)
	}
	return l
}

func (l *logger) Enabled(_ context.Context, param log.EnabledParameters) bool {
	return l.all.Enabled() && l.provider.sink.enabled(param.Severity, param.EventName)
}

// Emit writes a record to those of its events that are enabled. Errors go to OpenTelemetry's error handler, at most one
// in ten seconds.
func (l *logger) Emit(ctx context.Context, r log.Record) {
	if !l.all.Enabled() {
		return
	}
	if o := l.provider.sink.outlets(r.Severity(), r.EventName()); o.any() {
		l.emit(ctx, &o, &r)
	}
}

func (l *logger) emit(ctx context.Context, o *outlets, r *log.Record) {
	var d recordData
	d.timestamp, d.observed = r.Timestamp(), r.ObservedTimestamp()
	if d.observed.IsZero() {
		d.observed = time.Now()
	}
	d.severity, d.severityText, d.eventName = r.Severity(), r.SeverityText(), r.EventName()
	d.body = r.Body()
	if t := d.body.Type(); t == attribute.SLICE || t == attribute.MAP {
		d.body, _ = attrs.Nested(d.body, attrs.MaxDepth)
	}
	d.setContext(eventspan.FromContext(ctx))
	d.known, d.scope, d.resource = l.known, l.scope, l.provider.resource
	a, list := logattrs.Of(r, &l.provider.limits)
	err := l.provider.sink.write(o, &d, a)
	logattrs.Free(list)
	l.provider.sink.Handle(err)
}
