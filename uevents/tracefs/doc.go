// Package tracefs reads and changes what the kernel shows of user events in its tracing
// file system: which events exist, with which fields, and who traces them.
//
// Programs that only publish events need none of it, nor the permissions it takes: see
// package uevents. This package is for tools, tests and collectors.
//
// The files are described in the kernel's Documentation/trace/user_events.rst,
// Documentation/trace/events.rst and Documentation/trace/ftrace.rst.
package tracefs
