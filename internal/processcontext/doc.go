// Package processcontext publishes the resource attributes of this process to other programs, and reads those of other processes, as
// OpenTelemetry's process context. Publishing is a no-op on systems other than Linux.
//
// The format is that of OTEP 4719, whose message has the status Development (open-telemetry/opentelemetry-specification,
// oteps/profiles/4719-process-ctx.md, and open-telemetry/opentelemetry-proto,
// opentelemetry/proto/processcontext/v1development). A process has at most one context: a header of 32 bytes at the beginning of a
// mapping, in the byte order of the machine:
//
//	offset  size
//	     0     8  the text OTEL_CTX
//	     8     4  version, 2
//	    12     4  size of the payload in bytes
//	    16     8  CLOCK_BOOTTIME of the publication in nanoseconds; 0 while the header changes, and another one after each change
//	    24     8  address of the payload, anywhere in the process
//
// The payload is a protobuf message ProcessContext. Its field 1 is a Resource of OTLP, which is what this package writes and reads; field
// 2, more attributes for readers of profiles, is ignored.
//
// Readers find the mapping by its name in /proc/PID/maps. That is /memfd:OTEL_CTX if it is a private mapping of a file of
// memfd_create, [anon:OTEL_CTX] if it has no file and is named by prctl(PR_SET_VMA), and [anon_shmem:OTEL_CTX] if both is so. The
// children of fork do not inherit the mapping (MADV_DONTFORK). A reader takes the header, the payload, and the header
// again: the payload is complete if both headers are the same.
package processcontext
