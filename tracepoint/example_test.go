package tracepoint_test

import (
	"fmt"

	"github.com/userevents/userevents-go/tracepoint"
)

func ExampleParse() {
	d, err := tracepoint.Parse("myapp_http_request u16 status; s64 latency_ns; __data_loc char[] route")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range d.Fields {
		fmt.Printf("%s: %s, %d bytes\n", f.Name, f.Type, f.Type.FixedSize())
	}
	// Output:
	// status: u16, 2 bytes
	// latency_ns: s64, 8 bytes
	// route: __data_loc char[], 4 bytes
}

func ExampleParse_error() {
	_, err := tracepoint.Parse("myapp_http_request u16 status; float latency")
	fmt.Println(err)
	// Output:
	// tracepoint declaration "myapp_http_request u16 status; float latency", field 2 ("latency"): unknown type "float": there are u8 to u64, s8 to s64, char, short, int, their unsigned forms, and struct
}

func ExampleDeclaration() {
	d := tracepoint.Declaration{
		Name: "myapp_login",
		Fields: []tracepoint.Field{
			{Name: "uid", Type: tracepoint.Scalar(tracepoint.U32)},
			{Name: "trace_id", Type: tracepoint.Array(tracepoint.Char, 32)},
			{Name: "user", Type: tracepoint.Dynamic(tracepoint.Char)},
			{Name: "key", Type: tracepoint.StructOf("login_key", 24)},
		},
	}
	fmt.Println(d.Validate())
	fmt.Println(d)
	fmt.Println(d.FixedSize(), "bytes at least")
	// Output:
	// <nil>
	// myapp_login u32 uid; char[32] trace_id; __data_loc char[] user; struct login_key key 24
	// 64 bytes at least
}

func ExampleParseFormat() {
	// What events/user_events/myapp_login/format holds.
	const text = `name: myapp_login
ID: 1702
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:u32 uid;	offset:8;	size:4;	signed:0;
	field:__rel_loc char user[];	offset:12;	size:4;	signed:1;

print fmt: "uid=%u user=%s", REC->uid, __get_rel_str(user)
`
	f, err := tracepoint.ParseFormat(text)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Name, f.ID)
	for _, field := range f.Fields {
		fmt.Println(field.Offset, field.Type, field.Name)
	}
	d, err := f.Declaration()
	fmt.Println(d, err)
	// Output:
	// myapp_login 1702
	// 8 u32 uid
	// 12 __rel_loc char[] user
	// myapp_login u32 uid; __rel_loc char[] user <nil>
}

func ExampleMustParse() {
	request := tracepoint.MustParse("myapp_request u16 status")
	fmt.Println(request.Name, request.FixedSize())
	defer func() { fmt.Println(recover()) }()
	tracepoint.MustParse("myapp_request u16")
	// Output:
	// myapp_request 2
	// tracepoint declaration "myapp_request u16", field 1: type without a field name
}
