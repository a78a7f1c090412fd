package eventheader_test

import (
	"fmt"
	"log"

	"github.com/userevents/userevents-go/encode/eventheader"
)

// The tracepoint that all events of the examples belong to.
var name = eventheader.Name{Provider: "myapp", Level: eventheader.LevelInfo, Keyword: 1}

// printEvent prints a payload as a consumer would.
func printEvent(payload []byte) {
	ev, err := eventheader.Decode(name.String(), payload)
	if err != nil {
		log.Fatal(err)
	}
	fields, err := ev.AppendFieldsJSON(nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s\n", ev.Name, fields)
}

func ExampleName_Declaration() {
	d, err := name.Declaration()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d)
	// Output: myapp_L4K1 u8 eventheader_flags; u8 version; u16 id; u16 tag; u8 opcode; u8 level
}

func ExampleParseName() {
	n, err := eventheader.ParseName("my_app_L5Kff")
	fmt.Println(n.Provider, n.Level, n.Keyword, err)
	_, err = eventheader.ParseName("sched_switch")
	fmt.Println(err)
	// Output:
	// my_app 5 255 <nil>
	// malformed EventHeader event: name, byte 6: no level of two hexadecimal digits at most
}

func ExampleEncoder() {
	var e eventheader.Encoder
	e.Begin(nil, &eventheader.Header{Name: "request", Level: eventheader.LevelInfo}, 0)
	e.String("method", "GET")
	e.BeginStruct("response")
	e.Int64("status", 200)
	e.Strings("encodings", []string{"gzip", "br"})
	e.EndStruct()
	payload, err := e.End()
	if err != nil {
		log.Fatal(err)
	}
	printEvent(payload)
	// Output: request: "method":"GET","response":{"status":200,"encodings":["gzip","br"]}
}

// What does not fit the limit is cut, and the event says so.
func ExampleEncoder_limit() {
	var e eventheader.Encoder
	e.Begin(nil, &eventheader.Header{Name: "request", Level: eventheader.LevelInfo}, 132)
	e.String("url", "https://example.com/a/very/long/path/that/goes/on/and/on/and/on/and/on/and/on/and/on/and/on/and/on/and/on")
	e.Int64("status", 200)
	payload, err := e.End()
	if err != nil {
		log.Fatal(err)
	}
	printEvent(payload)
	// Output: request: "url":"https://example.com/a/very/long/path/that/goes/on/and/on/and/on/and/on/...","status":200,"_truncated":1
}

// A span's events carry its id, and that of its parent.
func ExampleUUID() {
	span, parent := eventheader.UUID{15: 2}, eventheader.UUID{15: 1}
	var e eventheader.Encoder
	h := eventheader.Header{Name: "span", Level: eventheader.LevelInfo, Opcode: eventheader.Opcode(1)}
	e.Begin(nil, &h, 0, span, parent)
	payload, err := e.End()
	if err != nil {
		log.Fatal(err)
	}
	ev, err := eventheader.Decode(name.String(), payload)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ev.Name, ev.Opcode == eventheader.Opcode(1), ev.Activity, ev.Related)
	// Output: span true 00000000-0000-0000-0000-000000000002 00000000-0000-0000-0000-000000000001
}

// payload is an event as a tracer recorded it: field "v" is 16909060, in big-endian order.
var payload = []byte{4, 0, 1, 2, 0, 0, 0, 4, 0, 5, 0, 1, 'E', 0, 'v', 0, 4, 1, 2, 3, 4}

func ExampleDecode() {
	ev, err := eventheader.Decode("myapp_L4K1", payload)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ev.Tracepoint.Provider, ev.Name, ev.ID, ev.Level)
	// Output: myapp E 258 4
}

func ExampleCursor() {
	ev, err := eventheader.Decode("myapp_L4K1", payload)
	if err != nil {
		log.Fatal(err)
	}
	var c eventheader.Cursor
	c.Reset(ev)
	for c.Next() {
		fmt.Printf("%s %s %s\n", c.NameBytes(), c.Value().AppendJSON(nil), c.Type())
	}
	fmt.Println(c.Err())
	// Output:
	// v 16909060 value32
	// <nil>
}
