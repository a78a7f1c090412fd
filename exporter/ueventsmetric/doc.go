// Package ueventsmetric writes OpenTelemetry metrics as Linux user_events tracepoints. perf, trace-cmd and ftrace record them; the
// kernel itself filters them and adds them up.
//
//	exporter, err := ueventsmetric.NewExporter("myapp")
//	reader := sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithInterval(10*time.Second))
//	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
//
// Each data point is an event with fields of its own, for people and for the kernel. Package otlp below this one, a module of its
// own, is for collectors: it writes many points into one event, as OTLP.
//
// The reader decides when points are written. A tool that attaches to the program above gets all points every 10 seconds, the first
// ones after up to 10 seconds:
//
//	perf record -a -e 'user_events:myapp_metric_*' -- sleep 60
//	perf script
//
// # Events
//
// An exporter called myapp registers ten events, which tools enable one by one. The numbers of an event are either increments,
// which a tool may sum up over time, or states, of which the last record counts:
//
//	myapp_metric_sum                       counters: increments. Sum value_int, or value_micro if the values have fractions
//	myapp_metric_histogram                 histograms: increments. Sum count and sum_micro; the largest max_micro is the maximum
//	myapp_metric_exp_histogram             exponential histograms: the same. Sum zero_count, too
//	myapp_metric_updown_sum                up-down counters: the current total, a state
//	myapp_metric_gauge                     gauges: states
//	myapp_metric_cumulative_sum            counters, and both kinds of histograms, without delta temporality:
//	myapp_metric_cumulative_histogram        totals since start_time_unix_nano, which are states
//	myapp_metric_cumulative_exp_histogram
//	myapp_metric_summary                   summaries, which only bridges from other libraries have: the same
//	myapp_metric_exemplar                  exemplars of all of these: samples, neither to sum up nor the last value
//
// Counters and histograms have delta temporality by default: each point has what was added since the last one, and a tool that is
// attached for a minute gets the sum of that minute. [WithTemporalitySelector] can choose cumulative temporality, which points from
// bridges usually have. An up-down counter has delta temporality only if a program's selector chooses it: the field temporality
// then is delta, and the values of the series are changes.
//
// docs/wire-formats.md has the fields. The kernel has no floating-point numbers. Numbers that can have a fraction are therefore
// written twice: as exact text, for people and programs, and in millionths, for filters and sums in the kernel; a duration in
// seconds becomes microseconds. Each point is rounded. Integers end at the limits of 64 bits, millionths at about 9.2 million
// million in the unit of the metric; an infinite number is at the limit, and NaN is the smallest number.
//
// Fields are fixed: all programs of a machine share one namespace of events, and two versions of a program with different fields
// could not run at the same time. With a name of more than 52 characters, declarations become too long for the kernel, first those
// of histograms. Descriptions of instruments are not written: they are the same in all points.
//
// # In the kernel
//
// Since Linux 6.4 this adds up the requests of each series, with no collector and no perf:
//
//	cd /sys/kernel/tracing/events/user_events/myapp_metric_sum
//	echo 'hist:keys=attributes:vals=value_int if name == "http.server.requests"' > trigger
//	cat hist
//
// The kernel takes one text as a key and compares its first 255 bytes. It prints sums without sign: a negative one, such as a
// sum_micro of negative measurements, has 2^64 added. Older kernels take only numbers, as keys and in filters.
//
// # Limits
//
// A record has at most 4064 bytes, which every tracing tool keeps, or the limit of [WithMaxPayload]. A larger one is truncated:
// texts and lists longer than 64 bytes are cut to equal shares, the longest first, whatever their order. If that is not enough,
// attributes are dropped, those with long values first. Ids, numbers and short texts survive. A text that was cut ends in "..."; a
// list of buckets or quantiles is cut between two numbers. The field truncated and [Exporter.Stats] count that.
//
// # Metrics of the exporter
//
// The counts of Stats are the metric otel.sdk.exporter.metric_data_point.exported of the global meter provider, too, if the
// environment has OTEL_GO_X_OBSERVABILITY=true, as for the SDK's own. Its attribute error.type is event_disabled if the last
// tracing tool detached while the record was made, and rejected if the kernel refused it.
//
// # Overhead
//
// While no tracing tool is attached, Export returns after one check, for any number of points. With a tool attached it takes one
// system call for each point whose event is enabled, and allocates only for attributes that are lists or maps. The SDK collects the
// points before that, whether a tool is attached or not. docs/benchmarks.md has figures.
package ueventsmetric
