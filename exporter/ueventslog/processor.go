package ueventslog

import (
	"context"

	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/internal/selfobs"
)

// Processor is an [sdklog.Processor] that writes records as user events, each before OnEmit
// returns and with one system call: there is nothing to batch, and nothing is lost when the
// program ends. It takes no lock. Processors come from [New].
//
// Methods may be called concurrently, also during and after Shutdown.
type Processor struct{ sink *sink }

var _ sdklog.Processor = (*Processor)(nil)

// New registers the events of a processor called name, which must be a valid beginning of an
// event's name: letters, digits and underscores. Register the processor with one
// provider, by [sdklog.WithProcessor].
//
// The processor returned is never nil. With an error it works and is never enabled, in whole
// or for some events; the error says what is missing and what to do about it, see package
// uevents. Records of a declared record that could not be registered go to their severity's
// event.
func New(name string, opts ...Option) (*Processor, error) {
	s, err := newSink(name, selfobs.LogProcessor, opts)
	return &Processor{s}, err
}

// Enabled reports whether anybody traces records like this: the event of the severity, or a
// declared record that may have it. It is one load and one branch. An unknown severity means
// any, an unknown event name any. With a declared event name, the answer is about the
// event of that record alone.
func (p *Processor) Enabled(_ context.Context, param sdklog.EnabledParameters) bool {
	return p.sink.enabled(param.Severity, param.EventName)
}

// OnEmit writes a record if anybody traces its event. That nobody does, or that the processor was
// shut down, is no error. Records are written whatever ctx says, as the interface demands,
// and not kept.
//
// Errors are the kernel's. At most one in ten seconds is returned, for the SDK to
// hand to the error handler; [Processor.Stats] counts all.
func (p *Processor) OnEmit(_ context.Context, r *sdklog.Record) error {
	return p.sink.Report(p.sink.write(r))
}

// Shutdown unregisters the events. Afterwards they are never enabled, and all methods do
// nothing. It does not wait for anything, so it does its work even if ctx is done.
func (p *Processor) Shutdown(context.Context) error { return p.sink.Close() }

// ForceFlush does nothing: every record has been written when OnEmit returns.
func (p *Processor) ForceFlush(context.Context) error { return nil }

// Stats returns the counts of each event, by its name.
func (p *Processor) Stats() map[string]Stats { return p.sink.stats() }
