package ueventslog

import (
	"context"

	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/log/embedded"
	"go.opentelemetry.io/otel/log/noop"
)

// LoggerProvider is a [log.LoggerProvider] in front of another one. While nobody traces the
// events of a processor, its loggers do nothing and ask nobody: Enabled and Emit are one
// load and one branch, where the SDK's provider takes a lock twice. It comes from
// [NewLoggerProvider].
//
// What its loggers let through is what somebody traces. So the provider behind it is to
// have that processor only: others, such as one that batches for a collector, would see no
// record while nobody traces.
type LoggerProvider struct {
	embedded.LoggerProvider

	gate  *sink
	inner log.LoggerProvider
}

var _ log.LoggerProvider = (*LoggerProvider)(nil)

// NewLoggerProvider returns a provider whose loggers are those of inner while somebody traces
// the events of gate. Shut inner down when the program ends; the loggers are never
// enabled afterwards, if inner has gate as its processor. A nil inner means one that does nothing.
func NewLoggerProvider(inner log.LoggerProvider, gate *Processor) *LoggerProvider {
	if inner == nil {
		inner = noop.NewLoggerProvider()
	}
	return &LoggerProvider{gate: gate.sink, inner: inner}
}

// Logger returns a logger that does nothing while nobody traces.
func (p *LoggerProvider) Logger(name string, options ...log.LoggerOption) log.Logger {
	return &logger{gate: p.gate, inner: p.inner.Logger(name, options...)}
}

type logger struct {
	embedded.Logger

	gate  *sink
	inner log.Logger
}

// Emit emits a record if anybody traces its event.
func (l *logger) Emit(ctx context.Context, r log.Record) {
	if l.gate.All.MaybeEnabled() && l.gate.wants(r.Severity(), r.EventName()) {
		l.inner.Emit(ctx, r)
	}
}

// Enabled reports whether anybody traces records like this, and the logger behind emits them.
func (l *logger) Enabled(ctx context.Context, param log.EnabledParameters) bool {
	return l.gate.enabled(param.Severity, param.EventName) && l.inner.Enabled(ctx, param)
}
