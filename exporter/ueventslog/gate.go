package ueventslog

import (
	"context"

	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/log/embedded"
	"go.opentelemetry.io/otel/log/noop"
)

// LoggerProvider is a [log.LoggerProvider] in front of another one. While the events of a processor are disabled,
// Enabled and Emit of its loggers return after one load and one branch, where the SDK's provider takes a lock twice.
// [NewLoggerProvider] returns LoggerProviders.
//
// Its loggers pass on only records whose events are enabled. So the provider behind it should have that processor
// only: others, such as one that batches for a collector, would miss the rest.
type LoggerProvider struct {
	embedded.LoggerProvider

	gate  *sink
	inner log.LoggerProvider
}

var _ log.LoggerProvider = (*LoggerProvider)(nil)

// NewLoggerProvider returns a provider whose loggers pass records on to those of inner while the events of gate are
// enabled. Shut inner down when the program ends; the loggers are never enabled afterwards, if inner has gate as its
// processor. A nil inner means one that does nothing.
func NewLoggerProvider(inner log.LoggerProvider, gate *Processor) *LoggerProvider {
	if inner == nil {
		inner = noop.NewLoggerProvider()
	}
	return &LoggerProvider{gate: gate.sink, inner: inner}
}

// Logger returns a logger that does nothing when disabled.
func (p *LoggerProvider) Logger(name string, options ...log.LoggerOption) log.Logger {
	return &logger{gate: p.gate, inner: p.inner.Logger(name, options...)}
}

type logger struct {
	embedded.Logger

	gate  *sink
	inner log.Logger
}

// Emit passes a record on if one of its events is enabled.
func (l *logger) Emit(ctx context.Context, r log.Record) {
	if !l.gate.All.MaybeEnabled() {
		return
	}
	if o := l.gate.outlets(r.Severity(), r.EventName()); o.any() {
		l.inner.Emit(ctx, r)
	}
}

// Enabled reports whether an event of such records is enabled, and the logger behind emits them.
func (l *logger) Enabled(ctx context.Context, param log.EnabledParameters) bool {
	return l.gate.enabled(param.Severity, param.EventName) && l.inner.Enabled(ctx, param)
}
