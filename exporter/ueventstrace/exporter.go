package ueventstrace

import (
	"context"
	"errors"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
	"github.com/userevents/userevents-go/uevents"
)

// Exporter is an [sdktrace.SpanExporter] that writes spans as user events, for pipelines that
// need an exporter. Prefer [Processor]: behind the SDK's simple or batch processor, only
// sampled spans arrive, their starts are not written, and a timeline shows the time
// and thread of the export. [NewExporter] makes exporters.
//
// Methods may be called concurrently, ExportSpans too.
type Exporter struct{ sink *sink }

var _ sdktrace.SpanExporter = (*Exporter)(nil)

var errExporterShutdown = errors.New("ueventstrace: exporter is shutdown")

// NewExporter registers the events of an exporter called name, which are those of [NewProcessor]
// without NAME_span_start and NAME_slice. Name and errors are as in [NewProcessor].
func NewExporter(name string, opts ...Option) (*Exporter, error) {
	c := component.Apply(config{}, opts, Option.applyToExporter)
	s, err := newSink(name, selfobs.SpanExporter, []event{spanEnd, spanEvent, spanLink}, &c)
	return &Exporter{s}, err
}

// ExportSpans writes the spans whose events are enabled. It keeps no reference to spans, and ignores those that are nil. If ctx is
// done, the rest is not written, and the error wraps that of ctx. After Shutdown it returns
// an error.
//
// A span that the kernel refuses does not keep the others from being written. Of such errors
// at most one in ten seconds is returned; [Exporter.Stats] counts all.
func (e *Exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return e.sink.Export(ctx, len(spans), "spans", errExporterShutdown, func(i int) error {
		if spans[i] == nil || !e.sink.All.Enabled() {
			return nil
		}
		return e.sink.writeSnapshot(spans[i])
	})
}

// Shutdown unregisters the events. Afterwards no span is written. It does not wait, so it does its work even if ctx
// is done.
func (e *Exporter) Shutdown(context.Context) error {
	return e.sink.Close()
}

// Stats returns the counts of each event, by its name.
func (e *Exporter) Stats() map[string]uevents.EventStats {
	return e.sink.Stats()
}
