// Package sdk tests package otlp against the OTLP exporters of OpenTelemetry's SDK: what the adapters write, and package otlp
// converts, is what the SDK's exporter sends of the same input. The differences that the package comment of otlp documents are
// applied to the SDK's data before the comparison.
package sdk
