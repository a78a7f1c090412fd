package ueventslog

import (
	"context"

	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
)

// Exporter is an [sdklog.Exporter] that writes records as user events, for pipelines that need an exporter. Prefer
// [Processor]: behind the SDK's simple or batch processor, records are made even when disabled, and on a tool's
// timeline a batch has the time and thread of the export instead of those of the log call.
//
// Methods may be called concurrently, Export too.
type Exporter struct{ events }

var _ sdklog.Exporter = (*Exporter)(nil)

// NewExporter registers the events of an exporter called name. Names and errors are as with [NewProcessor].
func NewExporter(name string, opts ...Option) (*Exporter, error) {
	c := component.Apply(config{}, opts, Option.apply)
	s, err := newSink(name, selfobs.LogExporter, &c)
	return &Exporter{events{s}}, err
}

// Export writes the records whose events are enabled, each as [Processor.OnEmit] does. It neither keeps nor changes
// records. Once ctx is done it writes no more records and returns an error that wraps that of ctx. After Shutdown it
// returns [sdklog.ErrExporterShutdown].
//
// If the kernel refuses a record, Export writes the others nevertheless. At most one such error in ten seconds is
// returned; [Exporter.Stats] counts all.
func (e *Exporter) Export(ctx context.Context, records []sdklog.Record) error {
	return e.sink.Export(ctx, len(records), "records", sdklog.ErrExporterShutdown, func(i int) error {
		return e.sink.writeSDK(context.Background(), &records[i]) // ctx is not that of the records
	})
}
