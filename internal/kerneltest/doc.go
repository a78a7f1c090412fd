// Package kerneltest is what the library's tests need of a real kernel: a skip that must be
// justified, and tracing tools: ftrace in an instance of its own, whose records are decoded from the
// kernel's raw buffers, and perf by package internal/perf. Neither uses this library's encoders and
// decoders of payloads.
package kerneltest
