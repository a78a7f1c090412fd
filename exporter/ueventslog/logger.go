package ueventslog

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/log/embedded"
	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/eventspan"
	"github.com/userevents/userevents-go/exporter/ueventslog/internal/logattrs"
	"github.com/userevents/userevents-go/uevents"
)

// logger emits the records of one instrumentation scope.
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

// Enabled reports whether an event of such records is enabled; see [Processor.Enabled].
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
