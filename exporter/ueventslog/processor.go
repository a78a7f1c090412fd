package ueventslog

import (
	"context"

	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/internal/component"
	"github.com/userevents/userevents-go/exporter/internal/selfobs"
)

// Processor is an [sdklog.Processor] that writes records as user events, each before OnEmit returns and with one
// system call, or two for a declared record, see [Declare]. It batches nothing, so no record is lost in the
// program when it ends. It takes no lock.
//
// Methods may be called concurrently, also during and after Shutdown.
type Processor struct{ events }

var _ sdklog.Processor = (*Processor)(nil)

// NewProcessor registers the events of a processor called name, with which the names of its events begin: 1 to 64 ASCII letters,
// digits and underscores, the first of which is no digit. Register the processor with one provider, by [sdklog.WithProcessor].
// The events of the name app are also those of a handler of package sloghandler called app_log: whichever comes second gets
// uevents.ErrConflict.
//
// The processor is never nil. With an error it works, but some or all of its events are never enabled. The error wraps
// fs.ErrInvalid if an argument is invalid, on every machine, or else says what is missing and what to do about it, see package
// uevents. Declared records whose event could not be registered are in the event of their severity only.
func NewProcessor(name string, opts ...Option) (*Processor, error) {
	c := component.Apply(config{}, opts)
	s, err := newSink(name, selfobs.LogProcessor, &c)
	return &Processor{events{s}}, err
}

// Enabled reports whether an event of such records is enabled: the event of the severity, or that of a declared
// record with this event name. An unknown severity means any, and an unknown event name any declared record that may
// have the severity. When no event is enabled, the check is one load and one branch.
func (p *Processor) Enabled(_ context.Context, param sdklog.EnabledParameters) bool {
	return p.sink.All.Enabled() && p.sink.enabled(param.Severity, param.EventName)
}

// OnEmit writes a record to those of its events that are enabled. When none is, or after Shutdown, it does nothing
// and returns nil. It ignores that ctx may be done, as the interface demands, and does not keep the record.
//
// The ids of a span of package ueventstrace's own provider are those that the span has in events.
//
// Errors are the kernel's. At most one in ten seconds is returned, which the SDK gives to OpenTelemetry's error
// handler; [Processor.Stats] counts all.
func (p *Processor) OnEmit(ctx context.Context, r *sdklog.Record) error {
	return p.sink.Report(p.sink.writeSDK(ctx, r))
}

// Exporter is an [sdklog.Exporter] that writes records as user events, for pipelines that need an exporter. Prefer
// [Processor]: behind the SDK's simple or batch processor, records are made even when disabled, and on a tool's
// timeline a batch has the time and thread of the export instead of those of the log call.
//
// Methods may be called concurrently, Export too.
type Exporter struct{ events }

var _ sdklog.Exporter = (*Exporter)(nil)

// NewExporter registers the events of an exporter called name. Names and errors are as with [NewProcessor].
func NewExporter(name string, opts ...Option) (*Exporter, error) {
	c := component.Apply(config{}, opts)
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
