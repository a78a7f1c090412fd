// Package otlpmetrics tests the requests of package ueventsmetric/otlp against OpenTelemetry's protobuf types and OTLP exporter.
package otlpmetrics
