package ueventstrace

import (
	"context"
	"errors"
	"fmt"
	"slices"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/exporter/internal/selfobs"
)

// Exporter is an [sdktrace.SpanExporter] that writes spans as user events, for pipelines that
// want an exporter. Prefer [Processor]: behind the SDK's simple or batch processor, only
// sampled spans arrive, their starts are never seen, and a tracer's timeline shows the time
// and thread of the export. Exporters come from [NewExporter].
//
// Methods may be called concurrently, ExportSpans too.
type Exporter struct{ sink *sink }

var _ sdktrace.SpanExporter = (*Exporter)(nil)

// ErrExporterShutdown is returned by ExportSpans after Shutdown, as the packages for logs and
// metrics return an error of that name of the SDK.
var ErrExporterShutdown = errors.New("ueventstrace: exporter is shutdown")

// NewExporter registers the events of an exporter called name, which are those of [New]
// without NAME_span_start and NAME_slice. What is said at New holds here too.
func NewExporter(name string, opts ...Option) (*Exporter, error) {
	opts = append(slices.Clip(opts), optionFunc(func(c config) config {
		c.perfetto = false
		return c
	}))
	s, err := newSink(name, selfobs.SpanExporter, []event{spanEnd, spanEvent, spanLink}, opts)
	return &Exporter{s}, err
}

// ExportSpans writes those of the spans that anybody traces. It keeps nothing. If ctx is
// done, the rest is not written, and the error is that of ctx. After Shutdown it returns
// [ErrExporterShutdown].
//
// A span that the kernel refuses does not keep the others from being written. Of such errors
// at most one in ten seconds is returned; [Exporter.Stats] counts all.
func (e *Exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	var first error
	failed := 0
	for i, sp := range spans {
		if e.sink.closed.Load() {
			return ErrExporterShutdown
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("ueventstrace: %d of %d spans were not written: %w", len(spans)-i, len(spans), err)
		}
		if !e.sink.all.MaybeEnabled() {
			continue
		}
		if err := e.sink.writeEnded(sp); err != nil {
			failed++
			if first == nil {
				first = err
			}
		}
	}
	if first == nil {
		return nil
	}
	return e.sink.errors.Report(fmt.Errorf("%d of %d spans: %w", failed, len(spans), first))
}

// Shutdown unregisters the events. Afterwards nothing is written. It does not wait
// for anything, so it does its work even if ctx is done.
func (e *Exporter) Shutdown(context.Context) error { return e.sink.close() }

// Stats returns the counts of each event, by its name.
func (e *Exporter) Stats() map[string]Stats { return e.sink.stats() }
