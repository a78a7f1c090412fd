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

// An event has a time of its own, and the fields of a struct type behind it.
func ExampleFieldsOf() {
	type Request struct {
		Method string `uevent:"http.method"`
		Status uint16 `uevent:"status"`
	}
	fields, err := typed.FieldsOf[Request]()
	if err != nil {
		fmt.Println(err)
		return
	}
	event := tracepoint.Declaration{Name: "myapp_request", Fields: []tracepoint.Field{
		{Name: "time_ns", Type: tracepoint.Scalar(tracepoint.U64)},
	}}
	for _, f := range fields.List() {
		event.Fields = append(event.Fields, f.Field)
	}
	layout, err := typed.NewLayout(event)
	if err != nil {
		fmt.Println(err)
		return
	}
	request := Request{"GET", 404}
	payload := layout.Begin(nil)
	typed.PutU64(payload, 0, 1700000000000000000)
	payload, _ = fields.Append(payload, 0, layout.Offsets()[1], &request, typed.DefaultLimit)

	dec, _ := typed.NewDecoder(event, nil)
	r, _ := dec.Decode(payload)
	fmt.Println(r)
	for i, f := range fields.List() {
		fmt.Println(f.Key, fields.Value(i, &request))
	}
	// Output:
	// myapp_request: time_ns=1700000000000000000 http_method=GET status=404
	// http.method GET
	// status 404
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

// An encoder that knows its fields writes them at offsets that it looked up once.
func ExampleNewLayout() {
	d, _ := tracepoint.Parse("myapp_error u64 time_ns; s32 level; __data_loc char[] msg; __data_loc char[] trace_id; __data_loc char[] attributes; u32 truncated")
	layout, err := typed.NewLayout(d)
	if err != nil {
		fmt.Println(err)
		return
	}
	const start = 4        // where the payload begins, behind the write index
	at := layout.Offsets() // from there
	for i := range at {
		at[i] += start
	}

	b := layout.Begin(make([]byte, start, 4096))
	typed.PutU64(b, at[0], typed.UnixNano(time.Unix(1700000000, 0)))
	typed.PutU32(b, at[1], 8)
	b, cut := typed.AppendString(b, start, at[2], "disk full:\n/var", 1000)
	b = typed.AppendHex(b, start, at[3], []byte{0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c})
	begin := len(b)
	b = append(b, `{"free":0}`...) // or any function that appends
	b = typed.EndText(b, start, at[4], begin)
	typed.PutU32(b, at[5], uint32(cut))

	dec, _ := typed.NewDecoder(d, nil)
	r, _ := dec.Decode(b[start:])
	fmt.Println(r)
	// Output:
	// myapp_error: time_ns=1700000000000000000 level=8 msg=disk full:\n/var trace_id=0af7651916cd43dd8448eb211c80319c attributes={"free":0} truncated=0
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

func ExampleFieldNames() {
	fmt.Println(typed.FieldNames("http.request.method", "user-agent", "user_agent", "größe"))
	// Output:
	// [http_request_method user_agent_24259bee user_agent gru00f6u00dfe]
}

func ExampleFieldName() {
	fmt.Println(typed.FieldName("http.response.status_code"))
	// Output:
	// http_response_status_code
}
