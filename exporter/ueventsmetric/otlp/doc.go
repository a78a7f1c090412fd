// Package otlp writes the metrics of OpenTelemetry as OTLP requests to the Linux user_events tracepoint otlp_metrics, which OpenTelemetry's exporters for
// Rust and other languages write, too: one collector reads the metrics of all programs of a machine.
//
//	exporter, err := otlp.NewExporter()
//	if err != nil {
//		log.Print(err) // why there are no events; the exporter works
//	}
//	reader := sdkmetric.NewPeriodicReader(exporter)
//	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
//
// Package ueventsmetric, one level up, writes an event with fields of its own for each point, which people can read and the kernel can
// filter.
//
// A name belongs to one event. OpenTelemetry's exporter for C++ registers it without fields: if such a program was first, [NewExporter]
// returns an error that wraps uevents.ErrConflict.
//
// # Requests
//
// An event holds as many points as fit, each request with the resource, scopes and metrics of its points. It is what OpenTelemetry's exporter for OTLP over
// HTTP sends of the same data, with these differences:
//
//   - Metrics and scopes without data points are omitted.
//   - A text that is not UTF-8 does not fail the export. As the value of an attribute it becomes bytes_value; elsewhere, bytes that are not
//     UTF-8 become U+FFFD.
//   - An exemplar's id is omitted unless it has 16 or 8 bytes.
//   - A time after April 2262, whose nanoseconds OpenTelemetry's exporter miscalculates, is right until July 2554 and 18446744073709551615,
//     the largest number, later. As there, a time before 1970 is omitted: OTLP reads it as unknown.
//
// # Limits
//
// A record has at most 4064 bytes, which every tracing tool keeps, or the limit of [WithMaxPayload]. Of a point that does not fit an event
// alone, parts are cut or dropped until it fits, in this order:
//
//  1. its exemplars are dropped,
//  2. the description of its metric is dropped,
//  3. the longest texts of its attributes are cut to equal shares of at least 64 bytes,
//  4. buckets or quantiles are dropped,
//  5. its last attributes are dropped, as docs/wire-formats.md says.
//
// Count, sum and value always remain. An attribute that is an array or a map is kept or dropped as a whole. The attribute
// user_events.truncated, an integer, is the number of attributes that a point lost or of which the text was cut. A resource gets at most
// half of an event and a scope a quarter; their attributes are cut and dropped in the same way, and OTLP has a field for how many were dropped. A
// metric's name, or a text in the scope, that leaves no room for a point is an error. [Exporter.Stats] counts all of that, but for
// attributes of resources and scopes.
//
// Metrics of the exporter and overhead are those of package ueventsmetric, but for one system call for each event and allocations for points
// that are cut. Points that fit no record count as rejected.
package otlp
