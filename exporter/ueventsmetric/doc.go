// Package ueventsmetric writes OpenTelemetry metrics as Linux user_events: each data point is an event with fields of its own, which tracing
// tools (uevents, perf, ftrace, trace-cmd) record, and the kernel filters and adds up.
//
//	exporter, err := ueventsmetric.NewExporter("myapp")
//	if err != nil {
//		log.Print(err) // why there are no events; the exporter works
//	}
//	reader := sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithInterval(10*time.Second))
//	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
//
// The reader decides when points are written: a tool that attaches to this program gets all points every 10 seconds, the first ones after
// up to 10 seconds. Package otlp below this one is for collectors: it writes many points into one event, as OTLP.
//
// # Events
//
// An exporter called myapp registers ten events, one for each kind of data point, such as myapp_metric_sum: docs/wire-formats.md has them and their
// fields, says which numbers a tool may sum up, and how a record above 4064 bytes, or the limit of [WithMaxPayload], is
// truncated. [Exporter.Stats] counts such records.
//
// Counters and histograms have delta temporality by default: each point has what was added since the last one, and a tool that is attached
// for a minute gets the sum of that minute. [WithTemporalitySelector] can choose cumulative temporality, which points from bridges usually
// have. An up-down counter has delta temporality only if a program's selector chooses it: the field temporality then is delta, and the
// values of the series are changes.
//
// The kernel has no floating-point numbers. So numbers that can have a fraction are written twice: as exact text, for people and programs, and in
// millionths, rounded, for filters and sums in the kernel; a duration in seconds becomes microseconds.
//
// With a name of more than 52 characters, declarations become too long for the kernel, first those of histograms. Descriptions of instruments are
// not written.
//
// # In the kernel
//
// This adds up the requests of each series, with no collector and no perf:
//
//	cd /sys/kernel/tracing/events/user_events/myapp_metric_sum
//	echo 'hist:keys=attributes:vals=value_int if name == "http.server.requests"' > trigger
//	cat hist
//
// The kernel takes one text as a key and compares its first 255 bytes. It prints sums without sign: a negative one, such as a sum_micro
// of negative measurements, has 2^64 added.
//
// # Metrics of the exporter
//
// If OTEL_GO_X_OBSERVABILITY is true, as for the SDK's own, the counts of Stats are the metric otel.sdk.exporter.metric_data_point.exported of
// the global meter provider. Its attribute error.type is event_disabled if the last tool detached while the record was made, and rejected if
// the kernel refused it.
//
// # Overhead
//
// While no tool is attached, Export returns after one check, for any number of points. With a tool attached it takes one system call for each
// point whose event is enabled, and allocates only for attributes that are lists or maps. The SDK collects the points before that, whether a tool
// is attached or not. docs/benchmarks.md has figures.
package ueventsmetric
