// Package autoexport lets programs that choose their exporters by environment variables, with
// go.opentelemetry.io/contrib/exporters/autoexport, choose user events:
//
//	import _ "github.com/userevents/userevents-go/exporter/autoexport"
//
//	OTEL_TRACES_EXPORTER=user_events OTEL_LOGS_EXPORTER=user_events OTEL_METRICS_EXPORTER=user_events ./program
//
// It has no names of its own, must be imported once, and is a module of its own, since OpenTelemetry's
// autoexport brings the dependencies of all its exporters.
//
// # Names
//
// The events of all three signals begin with the name of the service: OTEL_SERVICE_NAME, or else
// service.name in OTEL_RESOURCE_ATTRIBUTES, or else unknown_service: and the name of the
// executable, which is what the SDK calls it, too. What cannot be in the name of an event is replaced
// as typed.FieldName says, and a name above 52 characters is shortened and ends in a hash:
//
//	OTEL_SERVICE_NAME=shop-api      shop_api_span, shop_api_log_info, shop_api_metric_sum, ...
//	./shop, no variables            unknown_service_shop_span, ...
//
// # Overhead
//
// OpenTelemetry's autoexport makes exporters, which programs put behind a batch processor. So
// spans and records are made even while no tracing tool is attached, and reach a tool late, all from one
// thread. Packages ueventstrace and ueventslog have processors that do neither; use these
// where the program can be changed. Metrics lose nothing: the reader is a periodic one, with the
// interval of OTEL_METRIC_EXPORT_INTERVAL. Producers that OTEL_METRICS_PRODUCERS names are not
// asked, since only OpenTelemetry's own readers are given them.
//
// # Errors
//
// On a machine without user events, or without the permission, the program runs as it does while no tracing tool is
// attached. OpenTelemetry's error handler gets an error that says what is missing.
package autoexport
