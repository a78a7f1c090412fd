// Package perf reads the records of tracepoints, user events above all, from the kernel's perf rings.
//
//	dir, err := tracefs.Find()
//	session, err := perf.Open(dir, nil)
//	defer session.Close()
//	source, err := session.Attach("myapp_error", nil)     // or "sched:sched_switch"
//	var r perf.Record
//	for session.ReadInto(&r) == nil {
//		fmt.Println(r.Time, r.PID, r.Source, r.Payload()) // fields: tracefs.Event.Format
//	}
//
// A [Session] has a ring for each CPU, which all events write to, a [Source] is an event that it is attached
// to. Events can be attached and detached, and their filters replaced, while another goroutine reads.
// [Session.Follow] attaches to events as programs register them. Records come in order of time.
//
// # Lost records
//
// A reader that is too slow loses records: the kernel never waits for it. [Session.Stats] has what was lost of
// each event, exactly from Linux 6.0 on, also when nothing was recorded after the loss.
//
// # Flight recorder
//
// With Options.Overwrite the rings hold the latest records, and the session costs nothing until
// [Session.Snapshot] reads them.
//
// # Requirements
//
// Linux with CONFIG_PERF_EVENTS, and CAP_PERFMON or kernel.perf_event_paranoid=-1: see [Open]. Attached events
// cost the programs that write them about as much as perf record does. The kernel removes everything when the
// program ends, however it ends.
//
// Rings are described in the kernel's include/uapi/linux/perf_event.h and perf_event_open(2).
package perf
