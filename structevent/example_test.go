package structevent_test

import (
	"fmt"
	"time"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

func ExampleDefine() {
	type HTTPRequest struct {
		Method  string        `uevent:"method"`
		Route   string        `uevent:"route"`
		Status  uint16        `uevent:"status"`
		Latency time.Duration `uevent:"latency_ns"`
	}
	kernel := ueventstest.NewKernel(nil) // a simulated kernel
	defer kernel.Close()
	p := kernel.Provider() // in a program: uevents.Open(nil)
	defer p.Close()

	requests, err := structevent.Define[HTTPRequest](p, "myapp_http_request", nil)
	if err != nil {
		fmt.Println(err)
	}
	requests.Emit(&HTTPRequest{Method: "GET", Route: "/", Status: 200}) // disabled: one branch

	tracer, _ := kernel.Attach(ueventstest.Ftrace, "myapp_http_request")
	requests.Emit(&HTTPRequest{Method: "GET", Route: "/users/{id}", Status: 200, Latency: 1500 * time.Microsecond})

	for _, r := range tracer.Records() {
		d, _ := typed.NewDecoder(r.Declaration, nil)
		record, _ := d.Decode(r.Payload)
		fmt.Println(record)
	}
	// Output: myapp_http_request: method=GET route=/users/{id} status=200 latency_ns=1500000
}
