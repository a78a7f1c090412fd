// Package sdkcompare tests package otlp against the OTLP exporters of OpenTelemetry's SDK: what this module's adapters write, and
// package otlp converts, is what the SDK's exporter sends of the same input. The differences that the package comment of otlp
// documents are applied to the SDK's data before the comparison. It is a module of its own because of the exporters.
package sdkcompare
