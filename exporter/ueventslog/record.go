package ueventslog

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/exporter/internal/eventspan"
	"github.com/userevents/userevents-go/internal/payload"
)

// recordData is what events say of a log record, whether the SDK has made it or a [LoggerProvider]. It lives on the
// stack: writers neither keep it nor let it escape.
type recordData struct {
	timestamp, observed     time.Time
	severity                log.Severity
	severityText, eventName string
	body                    attribute.Value // not deeper than attrs.MaxDepth: the SDK has no limit for bodies
	traceID                 trace.TraceID
	spanID                  trace.SpanID
	flags                   trace.TraceFlags
	scope                   instrumentation.Scope
	resource                *attrs.Described
	known                   *attrs.Known // the same as scope and resource, or nil
}

// setContext sets the ids of the span that the record belongs to.
func (d *recordData) setContext(c trace.SpanContext) {
	d.traceID, d.spanID, d.flags = c.TraceID(), c.SpanID(), c.TraceFlags()
}

// setEventSpan sets the ids that the span of ctx has in events, if they are others than those that the SDK has taken of
// it. A processor may have changed these meanwhile: then they stay.
func (d *recordData) setEventSpan(ctx context.Context) {
	span := trace.SpanFromContext(ctx)
	other := eventspan.Of(ctx, span)
	if other == nil {
		return
	}
	if c := span.SpanContext(); d.traceID == c.TraceID() && d.spanID == c.SpanID() {
		d.setContext(other.EventSpanContext())
	}
}

// fill takes what a record of the SDK says, but for its resource.
func (d *recordData) fill(r *sdklog.Record) {
	d.timestamp, d.observed = r.Timestamp(), r.ObservedTimestamp()
	d.severity, d.severityText, d.eventName = r.Severity(), r.SeverityText(), r.EventName()
	d.body = attrs.Bounded(r.Body())
	d.traceID, d.spanID, d.flags = r.TraceID(), r.SpanID(), r.TraceFlags()
	d.scope = r.InstrumentationScope()
}

// putOrigin writes the fields about scope and resource.
func (d *recordData) putOrigin(b *payload.Builder, o *attrs.Origin) {
	if d.known != nil {
		o.PutKnown(b, d.known)
	} else {
		o.Put(b, &d.scope, d.resource)
	}
}
