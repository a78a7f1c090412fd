// Package perf reads the records of tracepoints, above all of user events, from the kernel's perf rings.
//
//	dir, err := tracefs.Find()
//	session, err := perf.Open(dir, nil)
//	defer session.Close()
//	source, err := session.Attach("myapp_error", nil)     // or "sched:sched_switch"
//	var r live.Record
//	for session.ReadInto(&r) == nil {
//		fmt.Println(r.Time, r.PID, r.Tag, r.Raw) // fields: tracefs.Event.Format
//	}
//
// A [Session] has one ring for each CPU, which all events share unless AttachOptions.Ring names others. A [Source] is an
// attached event. Events can be attached and detached while another goroutine reads.
// [Session.Follow] attaches to events as programs register them. Records are returned in order of time.
// reader.NewDecoder returns a decoder for the payloads of an event: System and Format of [Source.Event] are its arguments.
//
// # Lost records
//
// A slow reader loses records, since the kernel never waits for it. [Session.Stats] counts the lost records of each
// event, since Linux 6.0 at once and even if no record follows the loss, before that when the rest is read.
//
// # Flight recorder
//
// With Options.Overwrite the rings hold the latest records, and the kernel wakes no reader. [Session.Snapshot] reads
// them while programs write on.
//
// # Requirements
//
// Linux with CONFIG_PERF_EVENTS, and CAP_PERFMON or kernel.perf_event_paranoid=-1: see [Open]. An attached event adds
// about the same overhead to its programs as perf record. When the reading program ends, the kernel closes its events
// and frees its rings, even after a crash.
//
// Rings are described in the kernel's include/uapi/linux/perf_event.h and perf_event_open(2).
package perf
