// Package kerneltest is what the library's tests need of a real kernel: a skip that must be
// justified, and tracing tools (ftrace in an instance of its own, perf through its ring buffers)
// whose records are decoded from the kernel's raw buffers, without this library's encoders
// and decoders.
package kerneltest
