// Package ueventsmetric writes OpenTelemetry metrics as Linux user_events tracepoints. perf, trace-cmd and ftrace record
// them; the kernel itself filters them and adds them up.
//
//	exporter, err := ueventsmetric.NewExporter("myapp")
//	reader := sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithInterval(10*time.Second))
//	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
//
// Each data point is an event with fields of its own, for people and for the kernel. Package otlp below this one, a
// module of its own, is for collectors: it writes many points into one event, as OTLP.
//
// The reader decides when points are written. A tool that attaches to the program above gets all points every 10
// seconds, the first ones after up to 10 seconds:
//
//	perf record -a -e 'user_events:myapp_metric_*' -- sleep 60
//	perf script
//
// # Events
//
// An exporter called myapp registers six events, which tools enable one by one:
//
//	myapp_metric_gauge           a point of a gauge
//	myapp_metric_sum             of a counter or an up-down counter
//	myapp_metric_histogram       of a histogram with explicit bounds
//	myapp_metric_exp_histogram   of an exponential histogram
//	myapp_metric_summary         of a summary, which only bridges from other libraries have
//	myapp_metric_exemplar        an exemplar of a point
//
// All have these fields:
//
//	u64 time_unix_nano                    nanoseconds since 1970: when the points were collected, or an exemplar was measured
//	u64 start_time_unix_nano              the same, when the series or the interval began; not of exemplars
//	u32 truncated                         how many texts, lists and attributes were cut or dropped because the record did not fit
//	__data_loc char[] name                of the instrument
//	__data_loc char[] unit                of the values, in the notation of UCUM: such as s, By or {request}
//	__data_loc char[] scope_name          of the instrumentation scope: the meter's name
//	__data_loc char[] scope_version       and version
//	__data_loc char[] service_name        service.name of the resource
//	__data_loc char[] attributes          of the series, one JSON object
//
// A scope's schema URL and attributes, which few have, become the attributes
// otel.scope.schema_url and user_events.scope.attributes. Descriptions of instruments are not written: they are
// the same in all points.
//
// Exponential histograms have no fields scope_version and for the zero threshold, which become the attributes
// otel.scope.version and user_events.zero_threshold. All of these win over attributes of the series that have these keys.
//
// Sums and both kinds of histograms have
//
//	__data_loc char[] temporality         delta or cumulative; see [WithTemporalitySelector]
//
// Gauges, sums and exemplars have
//
//	__data_loc char[] value               the exact value
//	s64 value_int                         the value, rounded to the nearest integer: exact if the instrument counts in integers
//	s64 value_micro                       the value in millionths
//	u8 monotonic                          of sums only: 1 if the sum never decreases
//
// Histograms and summaries have
//
//	u64 count                             how many values were measured
//	__data_loc char[] sum                 the exact sum of the values
//	s64 sum_micro                         the sum in millionths
//	__data_loc char[] min, max            the smallest and the largest value, exact; only of histograms; empty if not known
//	s64 max_micro                         the largest value in millionths; 0 if not known
//	__data_loc char[] explicit_bounds     the upper bound of each bucket but the last: 0.1,0.5,1
//	__data_loc char[] bucket_counts       the number of values in each bucket, one more than bounds: 12,7,0,1
//	__data_loc char[] quantiles           of summaries: 0.5=0.012,0.99=1.5
//
// Exponential histograms have, in place of bounds and counts,
//
//	s32 scale                             bucket i holds values above b^i, up to b^(i+1), for b = 2^(2^-scale)
//	u64 zero_count                        how many values are zero, or not above the attribute user_events.zero_threshold, which is not written if it is 0
//	__data_loc char[] positive            index of the first bucket, a colon, and counts: -3:12,7,0,1
//	__data_loc char[] negative            the same, of the absolute values of negative values
//
// And exemplars have
//
//	__data_loc char[] trace_id            lower-case hex digits; empty without a trace
//	__data_loc char[] span_id             the same
//	__data_loc char[] filtered_attributes those of the measurement that the series does not have
//
// The kernel has no floating-point numbers. Numbers that can have a fraction are therefore
// written twice: as text, for people and programs, and in millionths, for filters and
// sums in the kernel; a duration in seconds becomes microseconds. The text of a number that is not finite is NaN,
// Infinity or -Infinity. Integers end at the limits of 64 bits, millionths at about 9.2 million million in the unit of
// the metric; an infinite number is at the limit, and NaN is the smallest number.
//
// The fields are fixed: all programs of a machine share one namespace of events, and two
// versions of a program with different fields could not run at the same time. With a name of more than 52
// characters, declarations become too long for the kernel, first that of histograms.
//
// # In the kernel
//
// Since Linux 6.4 this adds up the requests of each series, with no collector and no perf:
//
//	cd /sys/kernel/tracing/events/user_events/myapp_metric_sum
//	echo 'hist:keys=attributes:vals=value_int if name == "http.server.requests"' > trigger
//	cat hist
//
// The sums are right because of delta temporality, the default: each point has what was added since the last one. The
// kernel takes one text as a key and compares its first 255 bytes. Older kernels take only numbers, as keys and in
// filters.
//
// # Limits
//
// A record has at most 4064 bytes, which every tracing tool keeps, or the limit of [WithMaxPayload]. A larger one is truncated:
// texts and lists longer than 64 bytes are cut to equal shares, the longest first, whatever their order. If that is
// not enough, attributes are dropped, those with long values first. Ids, numbers and short texts survive. A text that
// was cut ends in "..."; a list of buckets or quantiles is cut between two numbers. The field truncated and [uevents.EventStats]
// count what was cut or dropped.
//
// # Metrics of the exporter
//
// The counts of Stats are the metric otel.sdk.exporter.metric_data_point.exported, too,
// if the environment has OTEL_GO_X_OBSERVABILITY=true, as for the SDK's own. Its attribute
// error.type is event_disabled if the last tracing tool detached while the record was made, and rejected if the kernel refused it.
// They go to the global meter provider.
//
// # Overhead
//
// While no tracing tool is attached, Export returns after one check, for any number of points. With a tool attached it
// takes one system call for each point whose event is enabled, and allocates only for attributes that are lists or maps.
// The SDK collects the points before that, whether a tool is attached or not. docs/benchmarks.md has figures.
package ueventsmetric
