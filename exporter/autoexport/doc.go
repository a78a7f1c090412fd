// Package autoexport sets OpenTelemetry up from environment variables, with user events as an exporter beside others:
//
//	shutdown, err := autoexport.Setup(ctx)
//	if err != nil {
//		log.Print(err) // what is misspelt or not supported; the rest works
//	}
//	defer shutdown(ctx)
//
//	OTEL_TRACES_EXPORTER=user_events,otlp OTEL_LOGS_EXPORTER=user_events OTEL_METRICS_EXPORTER=otlp ./program
//
// It is a module of its own, since OpenTelemetry's autoexport, on which it builds, brings the dependencies of all its exporters. Setup reads
// the environment and never changes it.
//
// # Variables
//
// [Setup] reads these variables. The SDK and the exporters read those of their own, such as OTEL_BSP_* and OTEL_EXPORTER_OTLP_*.
//
//	OTEL_TRACES_EXPORTER      names of exporters, separated by commas: user_events, otlp, console,
//	OTEL_LOGS_EXPORTER          for metrics prometheus, or none; or one name that the program
//	OTEL_METRICS_EXPORTER       registers with OpenTelemetry's autoexport; if empty, the names of
//	                            WithDefaultExporters, or otlp
//	OTEL_TRACES_SAMPLER       which spans the other exporters get, as in the SDK
//	OTEL_TRACES_SAMPLER_ARG
//	OTEL_PROPAGATORS          names of propagators, as in OpenTelemetry's autoprop; tracecontext,baggage if empty
//	OTEL_SERVICE_NAME         the name of the service, unless WithResource says another one
//	OTEL_RESOURCE_ATTRIBUTES  the resource's other attributes, as in the SDK
//	OTEL_SDK_DISABLED         true: Setup sets the propagator only
//	OTEL_CONFIG_FILE          an error: Setup does not read files, and the other variables apply
//
// Space around names and duplicates are ignored. The case counts. An unknown name is an error and changes nothing else: user_events,oltp propagates and
// samples as user_events,otlp does, and user_event alone as otlp.
//
// Without a span context, the propagators b3 and b3multi send nothing. OpenTelemetry's alone ask the services behind not to sample.
//
// OTEL_BSP_MAX_QUEUE_SIZE, OTEL_BSP_MAX_EXPORT_BATCH_SIZE and OTEL_BLRP_MAX_QUEUE_SIZE are from 1 to 1,048,576, and OTEL_BSP_SCHEDULE_DELAY is at
// least 1 (millisecond). Another value is an error of Setup, and the default applies.
//
// # User events alone
//
// With user_events as the only name, the providers of spans and log records are those of packages ueventstrace and ueventslog, without
// OpenTelemetry's SDK. The service takes no part in propagation: it forwards the span context of its caller, if there is one; see
// [WithPropagation]. OTEL_TRACES_SAMPLER has no effect: a tracing tool gets every span. The limits of OTEL_SPAN_* and OTEL_LOGRECORD_* apply.
//
// # Exporters beside user events
//
// With other names in the list, spans and log records are those of OpenTelemetry's SDK: each other exporter has a batch processor, and the
// processors of packages ueventstrace and ueventslog write user events, when and where spans start and end and records occur. The SDK hands out the
// events of a span when it ends. A tracing tool gets every span. Whether or not a tool is attached, the other exporters get the spans
// that the sampler chooses, and the service propagates the same.
//
// Metrics have a periodic reader for each exporter, with the interval of OTEL_METRIC_EXPORT_INTERVAL. OTEL_METRICS_PRODUCERS adds to the readers
// of otlp and console, and not to that of user events. In a list of exporters it can be prometheus or none, and a fallback that the program sets in
// OpenTelemetry's autoexport has no effect.
//
// OpenTelemetry's autoexport makes an exporter if its name is the whole value of the variable, and has no way to make those of a list. Setup makes
// the exporters of a list itself. So it cannot make an exporter, or a producer of metrics, that the program registers there: in
// a list, such an exporter is an error, and the others work; with such a producer only user_events has metrics.
//
// # Names
//
// The events of all three signals begin with the name of [WithEventName], or else of the service. Without one it is unknown_service: and the
// name of the executable, as in the SDK. Characters that names of events cannot have are replaced as typed.FieldName says, and a name above 52
// characters is shortened and ends in a hash. [EventName] returns the result.
//
//	OTEL_SERVICE_NAME=shop-api      shop_api_span, shop_api_log_info, shop_api_metric_sum, ...
//	./shop, no variables            unknown_service_shop_span, ...
//
// # Process context
//
// On Linux, [Setup] publishes the resource as OpenTelemetry's process context, until shutdown: OpenTelemetry's eBPF profiler and the command uevents
// then know the service of the process. Programs that may read the memory of this one can read it. The format is that of OTEP 4719, which
// has the status Development. It takes two pages of memory. [WithoutProcessContext] turns it off.
//
// # Registered exporters
//
// A program that calls OpenTelemetry's autoexport itself needs this import only:
//
//	import _ "github.com/userevents/userevents-go/exporter/autoexport"
//
// The value user_events of the three variables then makes an exporter of user events, which must be the only one. Prefer [Setup]: behind a batch
// processor, spans and records are made even while no tool is attached, only sampled spans arrive, late and all from one thread. The name of the
// service is that of [resource.Default].
//
// # Errors
//
// Where events take neither the kernel nor shared memory (see package uevents), the program runs as it does while no tool is attached, and
// [Setup] returns an error that says what is missing. For a registered exporter, OpenTelemetry's error handler gets it.
package autoexport
