package tracefs_test

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"github.com/userevents/userevents-go/internal/tracefs"
)

func ExampleAt() {
	tfs := tracefs.At("/host/sys/kernel/tracing")
	fmt.Println(tfs.Path(tracefs.DataFile))
	fmt.Println(tfs.Event("myapp_error").Path("enable"))
	// Output:
	// /host/sys/kernel/tracing/user_events_data
	// /host/sys/kernel/tracing/events/user_events/myapp_error/enable
}

// A tool counts the slow requests of a program by route, and prints their records, in an instance of its own: no other tool
// notices.
func ExampleInstance() {
	err := func() error {
		dir, err := tracefs.Find()
		if err != nil {
			return err
		}
		instance, err := dir.NewInstance("slow_requests")
		if err != nil {
			return err
		}
		defer func() { _ = instance.Remove() }() // it stays otherwise, with what it recorded
		if err := instance.SetBufferSize(64); err != nil {
			return err
		}
		request := instance.Event("myapp_request")
		if err := request.SetFilter("latency_ns > 1000000000"); err != nil {
			return err // it says what the kernel does not understand, and where
		}
		if err := request.AddTrigger("hist:keys=route if latency_ns > 1000000000"); err != nil {
			return err
		}
		if err := request.Enable(); err != nil {
			return err
		}
		interrupted := make(chan os.Signal, 1)
		signal.Notify(interrupted, os.Interrupt)
		<-interrupted
		if err := request.Disable(); err != nil { // for the program, it is disabled once the trigger is gone, too
			return err
		}
		hist, histErr := request.Hist()
		text, textErr := instance.Text()
		stats, statsErr := instance.BufferStats()
		fmt.Print(hist, text)
		fmt.Println(stats.Overrun, "older records were overwritten")
		return errors.Join(histErr, textErr, statsErr)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
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
