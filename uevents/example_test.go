package uevents_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

var request = tracepoint.MustParse("myapp_request u16 status")

// appendRequest appends the payload of a request record.
func appendRequest(rec []byte, status uint16) []byte {
	return binary.NativeEndian.AppendUint16(rec, status)
}

func Example() {
	kernel := ueventstest.NewKernel(nil) // simulates the kernel
	defer kernel.Close()
	p := kernel.Provider() // in a program: uevents.Open(nil)
	defer p.Close()
	ev, err := p.Register(request, nil)
	if err != nil {
		log.Print(err) // the event is usable all the same, and never enabled
	}
	serve := func(status uint16) {
		if !ev.Enabled() { // one load and one branch
			return
		}
		rec := make([]byte, uevents.IndexSize, 64) // reserved for the write index
		rec = appendRequest(rec, status)
		if _, err := ev.WriteRecord(rec); err != nil {
			log.Print(err)
		}
	}

	serve(200) // disabled: not recorded
	tool, err := kernel.Attach(ueventstest.Perf, "myapp_request")
	if err != nil {
		log.Fatal(err)
	}
	serve(404)
	for _, r := range tool.Records() {
		fmt.Println(r.Event, binary.NativeEndian.Uint16(r.Payload))
	}
	// Output: myapp_request 404
}

// A payload with a text, made by package encode/typed and read back from a simulated kernel, as in a test.
func ExampleEvent_WriteRecord() {
	kernel := ueventstest.NewKernel(nil) // in a test: ueventstest.New(t, nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	type response struct {
		Status uint16 `uevent:"status"`
		Route  string `uevent:"route"`
	}
	plan, err := typed.PlanFor[response]("myapp_response") // once for each event
	if err != nil {
		log.Fatal(err)
	}
	ev, err := p.Register(plan.Declaration(), nil)
	if err != nil {
		log.Fatal(err)
	}
	tool, err := kernel.Attach(ueventstest.Ftrace, ev.Name())
	if err != nil {
		log.Fatal(err)
	}

	rec := make([]byte, uevents.IndexSize, 128) // reserved for the write index
	rec, _ = plan.Append(rec, &response{404, "/users/{id}"}, 0)
	written, err := ev.WriteRecord(rec)
	fmt.Println(written, err)

	for _, r := range tool.Records() {
		decoder, err := typed.NewDecoder(r.Declaration, nil)
		if err != nil {
			log.Fatal(err)
		}
		record, err := decoder.Decode(r.Payload)
		fmt.Println(record, err)
	}
	// Output:
	// true <nil>
	// myapp_response: status=404 route=/users/{id} <nil>
}

// A group answers for all of its events at once, here before work that they have in common.
func ExampleProvider_NewGroup() {
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	group := p.NewGroup()
	for _, name := range []string{"myapp_start", "myapp_end"} {
		if _, err := p.Register(tracepoint.Declaration{Name: name}, &uevents.EventOptions{Groups: []*uevents.Group{group}}); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(group.Enabled())
	tool, err := kernel.Attach(ueventstest.Ftrace, "myapp_end")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(group.Enabled())
	tool.Detach()
	fmt.Println(group.Enabled())
	// Output:
	// false
	// true
	// false
}

// A tool is still attached to the event of the program's old version, which had other fields.
func ExampleNaming() {
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	old, p := kernel.Provider(), kernel.Provider()
	defer old.Close()
	defer p.Close()
	if _, err := old.Register(tracepoint.MustParse("myapp_request u32 code"), nil); err != nil {
		log.Fatal(err)
	}

	_, err := p.Register(request, &uevents.EventOptions{Naming: uevents.NameExact})
	fmt.Println("exact:", errors.Is(err, uevents.ErrConflict))

	ev, err := p.Register(request, &uevents.EventOptions{Naming: uevents.NameHashedOnConflict})
	fmt.Println("hashed on conflict:", ev.Name(), err)
	fmt.Println(ev.Conflict())
	// Output:
	// exact: true
	// hashed on conflict: myapp_request_bbf9f197 <nil>
	// uevents: register myapp_request: an event of this name has other fields: address already in use: it has "u32 code", not "u16 status" (registered as myapp_request_bbf9f197)
}

// Probe says whether this program can publish events here, and what to do if it cannot.
func ExampleProbe() {
	report := uevents.Probe(&uevents.Options{Path: "/nonexistent"}) // nil: look where Open does
	fmt.Println("can publish:", report.Err == nil)
	for _, f := range report.Findings {
		if f.Remedy != "" {
			log.Printf("%s: %s. %s", f.What, f.Result, f.Remedy)
		}
	}
	// Output: can publish: false
}
