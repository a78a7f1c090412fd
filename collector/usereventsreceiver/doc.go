// Package usereventsreceiver is a receiver of the OpenTelemetry Collector for Linux user_events: it collects the log
// records, spans and metrics that programs of any language write to tracepoints.
package usereventsreceiver
