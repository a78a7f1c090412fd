// Package tracepoint describes a Linux user_events tracepoint: its name and the
// fields of its records.
//
// A [Declaration] prints as, and parses from, the command syntax that the kernel
// takes when an event is registered:
//
//	myapp_http_request u16 status; s64 latency_ns; __data_loc char[] route
//
// The kernel checks fields but hardly checks names, and answers every mistake
// with the same EINVAL. [Declaration.Validate] is stricter than the kernel, so
// that every declaration it accepts can be registered, shows up under the name it was given, and is
// understood by perf and trace-cmd; its errors name the field at fault.
//
// [ParseFormat] reads the other description of an event, tracefs' format file,
// which says where each field of a record is.
//
// The syntax is described in the kernel's Documentation/trace/user_events.rst
// and implemented in kernel/trace/trace_events_user.c (user_event_parse_field).
package tracepoint
