// Package tracefs reads and controls events through the kernel's tracing file system: it lists, creates and removes user
// events, enables events of any system, filters them, and reads their records as text.
//
//	dir, err := tracefs.Find()
//	i, err := dir.NewInstance("mytool")           // ring buffers of its own
//	defer i.Remove()
//	ev := i.Event("myapp_request")                // or "user_events_multi:myapp_request.0"
//	err = ev.SetFilter(`status >= 500`)
//	err = ev.Enable()
//	text, err := i.Text()                         // the records so far
//
// A [Dir] is a mounted tracefs, an [Instance] a set of ring buffers with enabled events, an [Event] a tracepoint as
// an instance sees it. The files belong to root by default; errors wrap [fs.ErrPermission], [fs.ErrNotExist] and the
// kernel's errno, and name the file.
//
// Programs that only publish events need neither this package nor these permissions: see
// package uevents. This package is for tools, tests and collectors.
//
// The files are described in the kernel's Documentation/trace/user_events.rst,
// Documentation/trace/events.rst and Documentation/trace/ftrace.rst.
package tracefs
