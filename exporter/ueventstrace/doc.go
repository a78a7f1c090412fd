// Package ueventstrace writes the spans of OpenTelemetry as Linux user_events, which tracing tools (uevents, perf, ftrace, trace-cmd,
// Perfetto) watch, filter, count and record, on one timeline with the scheduler's events and system calls.
//
//	provider, err := ueventstrace.NewTracerProvider("myapp")
//	if err != nil {
//		log.Print(err) // why there are no events; the provider works
//	}
//	defer provider.Shutdown(context.Background())
//	otel.SetTracerProvider(provider)
//
// There are four ways to write spans:
//
//   - [NewTracerProvider], where tracing tools are the only destination. It does not use the SDK: while no tool is attached, Start returns a
//     span that does not record. The enabled check is three loads and one branch.
//   - [NewProcessor], where the SDK sends spans to other destinations, too. It writes when a span starts and when it ends.
//   - [NewSampler], with the processor: a tracing tool sees every span, whatever the sampler in use decides for the others.
//   - [NewExporter], for pipelines that accept an exporter only. It writes sampled spans, after they have ended.
//
// A processor called myapp registers four events, each with an enable bit of its own:
//
//	myapp_span_start   a span has started: written even if it never ends
//	myapp_span         a span has ended
//	myapp_span_event   an event of a span, before the span's end
//	myapp_span_link    a link of a span, before the span's end
//
// [WithPerfettoSlices] adds myapp_slice, from which Perfetto draws spans by itself.
// docs/wire-formats.md has their fields and those of the Common Schema, and says how a record above 4064 bytes, or the limit of [WithMaxPayload],
// is truncated. [uevents.EventStats] counts such records.
//
// # Spans of the provider
//
// A span of [NewTracerProvider] has the data that the SDK records, within the limits of the environment (OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT and
// so on).
//
// Its events and links are written when they are added, by the goroutine that adds them: a tool sees what a request does that hangs, and a
// program that is killed loses none. The limits of their number therefore do not apply. Behind the SDK, and in the Common Schema, they are
// written when the span ends.
//
// A span that started before a tool attached writes its events, too, from then on. Its start and end are not recorded, so its events
// have a trace_id and no span_id. All that happens in such a request is in one trace: that of its caller, or for a root a trace of its
// own. Spans of all tracers of the provider that start inside of it, before a tool attaches, are the same one: their events have the scope
// of the outermost one, also after End.
//
// # Deviations from OpenTelemetry's API
//
// They follow from one rule: attaching a tracing tool changes nothing for the program and for others. With [WithPropagation], the first two do
// not apply while a tool is attached.
//
//   - SpanContext returns the caller's, recorded or not, and for a root, or with WithNewRoot, an empty one. So it is not valid for a
//     root and not unique, and a child has the ids of its parent. The ids that a span was recorded with are in its events only: the trace id
//     is the caller's, so that events correlate with what a backend receives, the parent the nearest recorded span or the caller's.
//     [trace.LinkFromContext] returns a link to the caller's span.
//   - trace_flags are the caller's: a recording span has a sampled flag of 0 unless its caller has 1.
//   - IsRecording is false while no tool is attached, and changes for a span that started then: it takes events, but no attributes,
//     name or status.
//   - End does not recover a panic to record it, which would change how the program fails. RecordError survives a method Error that
//     panics.
//   - OpenTelemetry's B3 propagator sends "do not sample" for an empty span context, with this provider and with none. Package autoexport
//     installs one that sends nothing then.
//   - The name of a tracer may be empty. There are no tasks for runtime/trace.
//
// Log records of package ueventslog, and of package sloghandler with the option TraceContext: oteltrace.Context, have the ids of the recorded
// span, also where the program has put a span of its own around that.
//
// # Metrics of the processor
//
// If OTEL_GO_X_OBSERVABILITY is true, as for the SDK's own, the counts of Stats are the metric otel.sdk.processor.span.processed or
// otel.sdk.exporter.span.exported of the global meter provider. Its attribute error.type is event_disabled if the last tool detached
// while the record was made, and rejected if the kernel refused it.
//
// # Overhead
//
// While no tool is attached, Start of a [TracerProvider] allocates one object, as OpenTelemetry's no-op tracer does, and none inside of another
// span of the provider; its caller allocates the options. The SDK with [NewSampler] also asks the sampler, and returns a span that does not record.
//
// With a tool attached, a span of a TracerProvider that starts with up to four attributes is two allocations: the span and its context. Typed
// records allocate only for attributes that are lists or maps, and for a trace state. docs/benchmarks.md has figures.
package ueventstrace
