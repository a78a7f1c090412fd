package ueventstest_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"testing"

	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

var request = tracepoint.Declaration{
	Name:   "myapp_request",
	Fields: []tracepoint.Field{{Name: "status", Type: tracepoint.Scalar(tracepoint.U16)}},
}

// publish is the code under test.
func publish(e *uevents.Event, status uint16) {
	if !e.Enabled() {
		return
	}
	buf := make([]byte, uevents.IndexSize, 64)
	buf = binary.NativeEndian.AppendUint16(buf, status)
	if _, err := e.WriteRecord(buf); err != nil {
		log.Print(err)
	}
}

// A test has a kernel of its own, whatever the machine's kernel is.
func Example() {
	k := ueventstest.NewKernel(nil) // New(t, nil) in a test
	defer k.Close()
	p := k.Provider()
	defer p.Close()
	event, err := p.Register(request, nil)
	if err != nil {
		log.Fatal(err)
	}

	publish(event, 100) // disabled

	tool, err := k.Attach(ueventstest.Ftrace, "myapp_*")
	if err != nil {
		log.Fatal(err)
	}
	publish(event, 200)
	publish(event, 404)
	tool.Detach()
	publish(event, 500)

	for _, r := range tool.Records() {
		fmt.Println(r.Event, r.Declaration.FieldList(), binary.NativeEndian.Uint16(r.Payload))
	}
	// Output:
	// myapp_request u16 status 200
	// myapp_request u16 status 404
}

func ExampleNewKernel() {
	k := ueventstest.NewKernel(&ueventstest.Options{ABI: uevents.ABIStatusBit})
	defer k.Close()
	p := k.Provider()
	defer p.Close()
	if _, err := p.Register(request, nil); err != nil {
		log.Fatal(err)
	}
	if _, err := k.Attach(ueventstest.Perf, "myapp_request"); err != nil {
		log.Fatal(err)
	}
	fmt.Print(k.Status())
	// Output:
	// 1:myapp_request # Used by perf
	//
	// Active: 1
	// Busy: 1
	// Max: 32768
}

func ExampleNew() {
	_ = func(t *testing.T) {
		k := ueventstest.New(t, nil)
		p := k.Provider()
		defer p.Close() // a provider that stays open fails the test
		event, err := p.Register(request, nil)
		if err != nil {
			t.Fatal(err)
		}
		publish(event, 200)
	}
}

func ExampleKernel_Attach() {
	k := ueventstest.NewKernel(nil)
	defer k.Close()
	_, err := k.Attach(ueventstest.Ftrace, "myapp_request")
	fmt.Println(errors.Is(err, fs.ErrNotExist))

	// The tool keeps the event when its program ends, and the next start finds it enabled.
	for range 2 {
		p := k.Provider()
		event, err := p.Register(request, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Enabled())
		if _, err := k.Attach(ueventstest.Ftrace, "myapp_request"); err != nil {
			log.Fatal(err)
		}
		if err := p.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// true
	// false
	// true
}

func ExampleKernel_Provider() {
	k := ueventstest.NewKernel(nil)
	defer k.Close()

	// Two programs with the same event, and one with another of the same name.
	a, b, c := k.Provider(), k.Provider(), k.Provider()
	defer a.Close()
	defer b.Close()
	defer c.Close()
	other := request
	other.Fields = nil
	_, errA := a.Register(request, nil)
	_, errB := b.Register(request, nil)
	_, errC := c.Register(other, nil)
	fmt.Println(errA, errB, errors.Is(errC, uevents.ErrConflict))
	// Output:
	// <nil> <nil> true
}
