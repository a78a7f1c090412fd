package ueventslog

import (
	"context"

	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/internal/selfobs"
)

// Exporter is an [sdklog.Exporter] that writes records as user events, for pipelines that want
// an exporter. Prefer [Processor]: behind the SDK's simple or batch processor, records are made
// whether anybody traces or not, and a batch carries the time and thread of the export,
// not those of the log call, on a tracer's timeline. Exporters come from [NewExporter].
//
// Methods may be called concurrently, Export too.
type Exporter struct{ sink *sink }

var _ sdklog.Exporter = (*Exporter)(nil)

// NewExporter registers the events of an exporter called name. What is said at [New] holds here
// too.
func NewExporter(name string, opts ...Option) (*Exporter, error) {
	s, err := newSink(name, selfobs.LogExporter, opts)
	return &Exporter{s}, err
}

// Export writes those of the records that anybody traces, with one system call each. It keeps
// nothing and changes nothing. If ctx is done, the rest is not written, and the error is that of
// ctx. After Shutdown it returns [sdklog.ErrExporterShutdown].
//
// A record that the kernel refuses does not keep the others from being written. Of
// such errors at most one in ten seconds is returned; [Exporter.Stats] counts all.
func (e *Exporter) Export(ctx context.Context, records []sdklog.Record) error {
	return e.sink.Export(ctx, len(records), "records", sdklog.ErrExporterShutdown, func(i int) error {
		return e.sink.write(&records[i])
	})
}

// Shutdown unregisters the events. Afterwards Export returns [sdklog.ErrExporterShutdown], and
// the other methods do nothing. It does not wait for anything, so it does its work even if
// ctx is done.
func (e *Exporter) Shutdown(context.Context) error { return e.sink.Close() }

// ForceFlush does nothing: the exporter holds no records.
func (e *Exporter) ForceFlush(context.Context) error { return nil }

// Stats returns the counts of each event, by its name.
func (e *Exporter) Stats() map[string]Stats { return e.sink.stats() }
