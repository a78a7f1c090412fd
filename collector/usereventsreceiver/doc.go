// Package usereventsreceiver is a receiver of the OpenTelemetry Collector for Linux user_events: it collects the log
// records, spans and metrics that programs of any language write to tracepoints, or to shared memory where the kernel has
// none. [NewFactory] is for the Collector's builder; README.md describes the configuration.
//
// One session of package reader serves the receivers of all signals. One goroutine moves records from the rings of the
// kernel and of programs to a queue of bounded memory. Another one decodes them, converts them with package reader/otlp,
// whose comment has the mapping, and delivers batches. While consumers are slow the queue fills, then the rings, and then
// lost records are counted.
package usereventsreceiver

//go:generate sh generate.sh
