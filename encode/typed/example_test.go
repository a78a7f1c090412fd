package typed_test

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/tracepoint"
)

func ExamplePlanFor() {
	type HTTPRequest struct {
		Method  string        `uevent:"method"`
		Route   string        `uevent:"route"`
		Status  uint16        `uevent:"status"`
		Latency time.Duration `uevent:"latency_ns"`
	}
	plan, err := typed.PlanFor[HTTPRequest]("myapp_http_request")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Declaration())

	buf := make([]byte, 4, 4096) // the write index
	request := HTTPRequest{"GET", "/users/{id}", 404, 1500 * time.Microsecond}
	buf, truncated := plan.Append(buf, &request, 0)
	fmt.Println(len(buf), "bytes,", truncated, "truncated")
	// Output:
	// myapp_http_request __data_loc char[] method; __data_loc char[] route; u16 status; s64 latency_ns
	// 38 bytes, 0 truncated
}

func ExamplePlanFor_error() {
	type Login struct {
		User struct {
			Name  string
			Roles []string
		}
	}
	_, err := typed.PlanFor[Login]("myapp_login")
	fmt.Println(err)
	// Output:
	// struct event "myapp_login" from typed_test.Login: invalid tracepoint declaration: field User.Roles: []string is not supported: the kernel has arrays of integers only
}

// A struct can ask to be told how many of its values were truncated.
func ExampleTruncated() {
	type Message struct {
		Text      string          `uevent:"text"`
		Truncated typed.Truncated `uevent:"truncated"`
	}
	plan, _ := typed.PlanFor[Message]("myapp_message")
	payload, _ := plan.Append(nil, &Message{Text: "a long story"}, 20)

	dec, _ := typed.NewDecoder(plan.Declaration(), nil)
	r, _ := dec.Decode(payload)
	fmt.Println(r)
	// Output:
	// myapp_message: text=a long s... truncated=1
}

func ExampleNewDecoder() {
	d, _ := tracepoint.Parse("myapp_http_request u16 status; __rel_loc char[] route")
	dec, err := typed.NewDecoder(d, binary.LittleEndian)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := dec.Decode([]byte("\x94\x01\x00\x00\x07\x00/users\x00"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for name, v := range r.All() {
		fmt.Println(name, v.Kind(), v)
	}
	_, err = dec.Decode([]byte("\x94\x01\x00\x00\x07\x00/use"))
	fmt.Println(err)
	// Output:
	// status uint 404
	// route text /users
	// malformed record: event "myapp_http_request", field "route": location 0x00070000: 7 bytes at offset 6, and the record has 10
}

// Records of ftrace and perf begin with fields that all events have in common.
func ExampleNewFormatDecoder() {
	f, _ := tracepoint.ParseFormat(`name: myapp_login
ID: 1702
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:u32 uid;	offset:8;	size:4;	signed:0;
	field:__rel_loc char user[];	offset:12;	size:4;	signed:1;

print fmt: "uid=%u user=%s", REC->uid, __get_rel_str(user)
`)
	dec, err := typed.NewFormatDecoder(f, binary.LittleEndian)
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := dec.Decode([]byte("\xa6\x06\x00\x00\x92\x10\x00\x00" + "\xe8\x03\x00\x00\x00\x00\x05\x00root\x00"))
	if err != nil {
		fmt.Println(err)
		return
	}
	pid, _ := r.Lookup("common_pid")
	fmt.Println(pid, r)
	// Output:
	// 4242 myapp_login: uid=1000 user=root
}

func ExampleFieldName() {
	fmt.Println(typed.FieldName("http.response.status_code"))
	// Output:
	// http_response_status_code
}
