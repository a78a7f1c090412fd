// Package otlp writes the metrics of OpenTelemetry as the Linux user_events tracepoint otlp_metrics,
// which OpenTelemetry's exporters for Rust and other languages write too, so that one collector reads the metrics of all
// of them. A tool that attaches to the event gets the points of all programs on the machine.
//
//	exporter, err := otlp.NewExporter()
//	reader := sdkmetric.NewPeriodicReader(exporter)
//	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
//
// Package ueventsmetric, one level up, writes an event with fields of its own for each point, which people can read and the kernel can
// filter. Package otlp is a module of its own, since OTLP brings many dependencies.
//
// # The event
//
//	u32 protocol             0: protobuf
//	char[8] version          v0.19.00, whatever the version of OTLP
//	__rel_loc u8[] buffer    an opentelemetry.proto.collector.metrics.v1.ExportMetricsServiceRequest
//
// The buffer follows the fixed fields directly. Data is what OpenTelemetry's exporter for OTLP over
// HTTP makes of it: its own code runs, up to the request, which never leaves the process. Its
// environment variables (OTEL_EXPORTER_OTLP_...) have no effect here.
//
// A name belongs to one event. OpenTelemetry's exporter for C++ registers it without
// fields; where it was first, [NewExporter] returns an error that wraps uevents.ErrConflict.
//
// # Packing
//
// An event holds as many points as fit, each request with the resource, scope and metrics of
// its points. That takes far fewer writes, and fewer bytes of the ring buffer, than one event for each point, as other exporters have it.
//
// A point that does not fit an event alone loses its exemplars, then the description of its
// metric, then attributes from the last on, and then its buckets, until it fits. The attribute
// otel.dropped_attributes_count says that and how many attributes are missing. A resource
// gets at most half of an event and a scope a quarter; they lose their largest attributes, which
// OTLP counts in a field. A metric's name, or a text in the scope, that leaves no room for a point is an
// error. [Stats] counts all of that.
//
// # Overhead
//
// While no tracing tool is attached, Export returns after one check, for any number of points. With a tool attached, it allocates for
// each point: OTLP is not made for speed. The SDK collects the points before that, whether a tool is attached or not.
package otlp
