package tracefs_test

import (
	"fmt"
	"strings"

	"github.com/userevents/userevents-go/uevents/tracefs"
)

func ExampleAt() {
	tfs := tracefs.At("/host/sys/kernel/tracing")
	fmt.Println(tfs.Path(tracefs.DataFile))
	fmt.Println(tfs.Event("myapp_error").Path("enable"))
	// Output:
	// /host/sys/kernel/tracing/user_events_data
	// /host/sys/kernel/tracing/events/user_events/myapp_error/enable
}

func ExampleParseMounts() {
	const mountinfo = `24 22 0:12 / /sys/kernel/tracing rw,nosuid shared:12 - tracefs tracefs rw
28 22 0:12 /user_events_data /run/user_events/user_events_data ro - tracefs tracefs rw
`
	mounts, err := tracefs.ParseMounts(strings.NewReader(mountinfo))
	if err != nil {
		panic(err)
	}
	for _, m := range mounts {
		file, _ := m.DataFile()
		fmt.Println(file, m.Options)
	}
	// Output:
	// /sys/kernel/tracing/user_events_data rw,nosuid
	// /run/user_events/user_events_data ro
}

func ExampleParseStatus() {
	const userEventsStatus = `myapp_info
myapp_error # Used by ftrace perf

Active: 2
Busy: 1
`
	status, err := tracefs.ParseStatus(strings.NewReader(userEventsStatus))
	if err != nil {
		panic(err)
	}
	for _, e := range status.Events {
		fmt.Println(e.Name, e.UsedBy)
	}
	fmt.Println(status.Busy, "of", status.Active)
	// Output:
	// myapp_info []
	// myapp_error [ftrace perf]
	// 1 of 2
}

func ExampleParseDynamicEvents() {
	const dynamicEvents = `p:kprobes/p_vfs_read vfs_read
u:myapp_request u16 status; u64 latency_ns; __data_loc char[] route
`
	decls, err := tracefs.ParseDynamicEvents(strings.NewReader(dynamicEvents))
	if err != nil {
		panic(err)
	}
	for _, d := range decls {
		fmt.Println(d.Name, "has", len(d.Fields), "fields; the last is", d.Fields[2])
	}
	// Output:
	// myapp_request has 3 fields; the last is __data_loc char[] route
}
