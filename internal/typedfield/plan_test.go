package typedfield_test

import (
	"bytes"
	"math"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/typedfield"
)

type (
	status  uint16
	flag    bool
	name    string
	traceID [16]byte
	blob    []byte
	ratio   float32
	seconds int64
)

// everything has each kind of field that a plan takes.
type everything struct {
	Bool    bool           `uevent:"bool"`
	I8      int8           `uevent:"i8"`
	I16     int16          `uevent:"i16"`
	I32     int32          `uevent:"i32"`
	I64     int64          `uevent:"i64"`
	Int     int            `uevent:"int"`
	U8      uint8          `uevent:"u8"`
	U16     uint16         `uevent:"u16"`
	U32     uint32         `uevent:"u32"`
	U64     uint64         `uevent:"u64"`
	Uint    uint           `uevent:"uint"`
	F32     float32        `uevent:"f32"`
	F64     float64        `uevent:"f64"`
	Milli32 float32        `uevent:"milli32,scale=1000"`
	Milli64 float64        `uevent:"milli64,scale=1000"`
	Took    time.Duration  `uevent:"took_ns"`
	At      time.Time      `uevent:"at_ns"`
	Text    string         `uevent:"text"`
	Addr    netip.Addr     `uevent:"addr"`
	Peer    netip.AddrPort `uevent:"peer"`
	Net     netip.Prefix   `uevent:"net"`
	IP      net.IP         `uevent:"ip"`
	ID      [4]byte        `uevent:"id"`
	UUID    [16]byte       `uevent:"uuid,uuid"`
	Bytes   []byte         `uevent:"bytes"`
	Body    []byte         `uevent:"body,text"`
	Raw     []byte         `uevent:"raw,raw"`
	S16     []int16        `uevent:"s16"`
	A64     [2]uint64      `uevent:"a64"`
}

var sample = everything{
	Bool: true, I8: -1, I16: -2, I32: -3, I64: -4, Int: -5, U8: 6, U16: 7, U32: 8, U64: math.MaxUint64, Uint: 10,
	F32: 0.1, F64: -1e21, Milli32: 0.25, Milli64: -1.5, Took: 1500 * time.Microsecond, At: time.Unix(1700000000, 5),
	Text: "hello", Addr: netip.MustParseAddr("2001:db8::1"), Peer: netip.MustParseAddrPort("192.0.2.1:443"),
	Net: netip.MustParsePrefix("10.0.0.0/8"), IP: net.IPv4(192, 0, 2, 7),
	ID: [4]byte{0xDE, 0xAD, 0xBE, 0xEF}, UUID: [16]byte{0: 0x6B, 15: 0xC8}, Bytes: []byte{1, 0xFF}, Body: []byte("a\nb"),
	Raw: []byte{0, 10, 200}, S16: []int16{-1, 300}, A64: [2]uint64{1, math.MaxUint64},
}

func mustPlan[T any](t testing.TB) *typed.Plan[T] {
	t.Helper()
	p, err := typed.PlanFor[T]("event")
	require.NoError(t, err)
	return p
}

// appendPlan makes a payload and decodes it.
func appendPlan[T any](t testing.TB, p *typed.Plan[T], v *T, limit int) (r typed.Record, cut int) {
	t.Helper()
	b, cut := p.Append([]byte(prefix), v, limit)
	require.Equal(t, prefix, string(b[:len(prefix)]))
	payload := b[len(prefix):]
	if limit <= 0 {
		limit = typedfield.DefaultLimit
	}
	least, _ := p.Append(nil, new(T), 1) // numbers and ids, whatever the limit
	require.LessOrEqual(t, len(payload), max(limit, len(least)))
	recordtest.RequireAccepted(t, p.Declaration(), payload)
	r = recordtest.Decode(t, p.Declaration(), payload)

	// In a buffer that is full of other bytes, with room or just not, the same is written, and nothing behind the room.
	for _, room := range []int{len(payload) - 1, len(payload), limit + 1} {
		dirty := bytes.Repeat([]byte{0xEE}, len(prefix)+max(room, 0)+64)
		end := copy(dirty, prefix)
		again, cutAgain := p.Append(dirty[:end:end+max(room, 0)], v, limit)
		require.Equal(t, string(b), string(again))
		require.Equal(t, cut, cutAgain)
		require.Equal(t, strings.Repeat("\xEE", 64), string(dirty[len(dirty)-64:]))
	}
	return r, cut
}

func TestPlanOfEveryType(t *testing.T) {
	p := mustPlan[everything](t)
	assert.Equal(t, "event u8 bool; s32 i8; s32 i16; s32 i32; s64 i64; s64 int; u8 u8; u16 u16; u32 u32; u64 u64; u64 uint; "+
		"__data_loc char[] f32; __data_loc char[] f64; s64 milli32; s64 milli64; s64 took_ns; u64 at_ns; __data_loc char[] text; "+
		"__data_loc char[] addr; __data_loc char[] peer; __data_loc char[] net; __data_loc char[] ip; __data_loc char[] id; __data_loc char[] uuid; "+
		"__data_loc char[] bytes; __data_loc char[] body; __data_loc u8[] raw; __data_loc s16[] s16; __data_loc u64[] a64",
		p.Declaration().String())
	assert.Equal(t, p.Declaration().String(), p.Declaration().String())

	r, cut := appendPlan(t, p, &sample, 0)
	assert.Zero(t, cut)
	assert.Equal(t, "event: bool=1 i8=-1 i16=-2 i32=-3 i64=-4 int=-5 u8=6 u16=7 u32=8 u64=18446744073709551615 uint=10 "+
		"f32=0.1 f64=-1e+21 milli32=250 milli64=-1500 took_ns=1500000 at_ns=1700000000000000005 text=hello "+
		"addr=2001:db8::1 peer=192.0.2.1:443 net=10.0.0.0/8 ip=192.0.2.7 id=deadbeef uuid=6b000000-0000-0000-0000-0000000000c8 "+
		"bytes=01ff body=a\\nb raw={0,10,200} s16={-1,300} a64={1,18446744073709551615}", r.String())

	r, cut = appendPlan(t, p, &everything{}, 0)
	assert.Zero(t, cut)
	assert.Equal(t, "event: bool=0 i8=0 i16=0 i32=0 i64=0 int=0 u8=0 u16=0 u32=0 u64=0 uint=0 "+
		"f32=0 f64=0 milli32=0 milli64=0 took_ns=0 at_ns=0 text= addr= peer= net= ip= id=00000000 "+
		"uuid=00000000-0000-0000-0000-000000000000 bytes= body= raw={} s16={} a64={0,0}", r.String())
}

func TestPlanOfNamedTypes(t *testing.T) {
	type event struct {
		Status status   `uevent:"status"`
		Flag   flag     `uevent:"flag"`
		Name   name     `uevent:"name"`
		Trace  traceID  `uevent:"trace_id"`
		Blob   blob     `uevent:"blob,text"`
		Ratio  ratio    `uevent:"ratio,scale=100"`
		Wait   seconds  `uevent:"wait"`
		Codes  []status `uevent:"codes"`
	}
	p := mustPlan[event](t)
	assert.Equal(t, "event u16 status; u8 flag; __data_loc char[] name; __data_loc char[] trace_id; __data_loc char[] blob; s64 ratio; s64 wait; __data_loc u16[] codes",
		p.Declaration().String())
	r, _ := appendPlan(t, p, &event{404, true, "x", traceID{1, 15: 2}, blob("y"), 0.5, 3, []status{1, 2}}, 0)
	assert.Equal(t, "event: status=404 flag=1 name=x trace_id=01000000000000000000000000000002 blob=y ratio=50 wait=3 codes={1,2}", r.String())
}

// IP is no address, although its name is that of one, and net.HardwareAddr is none, although its package is that of one.
type IP []byte

func TestPlanOfTypesNamedLikeAddresses(t *testing.T) {
	type event struct {
		A IP
		B net.HardwareAddr
		C net.IP
	}
	r, _ := appendPlan(t, mustPlan[event](t), &event{IP{192, 0, 2, 7}, net.HardwareAddr{192, 0, 2, 7}, net.IP{192, 0, 2, 7}}, 0)
	assert.Equal(t, "event: A=c0000207 B=c0000207 C=192.0.2.7", r.String())
}

func TestPlanOfTruncatedFirst(t *testing.T) {
	type event struct {
		Left typed.Truncated
		S    string
	}
	p := mustPlan[event](t)
	r, cut := appendPlan(t, p, &event{S: "hello, world"}, 0)
	assert.Zero(t, cut)
	assert.Equal(t, "event: Left=0 S=hello, world", r.String())
	r, cut = appendPlan(t, p, &event{S: "hello, world"}, 18)
	assert.Equal(t, 1, cut)
	assert.Equal(t, "event: Left=1 S=hello,...", r.String())
}

type Base struct {
	ID   uint32 `uevent:"id"`
	Host string
}

type hidden struct {
	Shown  uint8 `uevent:"shown"`
	secret uint8
}

func TestPlanOfStructsInStructs(t *testing.T) {
	type address struct {
		City string `uevent:"city"`
		Zip  uint32 `uevent:"zip"`
	}
	type event struct {
		Base
		hidden
		Home  address `uevent:"home"`
		Work  address
		Named Base `uevent:"http.base"`
		Last  uint8
	}
	p := mustPlan[event](t)
	assert.Equal(t, "event u32 id; __data_loc char[] Host; u8 shown; __data_loc char[] home_city; u32 home_zip; "+
		"__data_loc char[] Work_city; u32 Work_zip; u32 http_base_id; __data_loc char[] http_base_Host; u8 Last", p.Declaration().String())
	v := event{
		Base: Base{ID: 1, Host: "h"}, hidden: hidden{Shown: 2, secret: 3},
		Home: address{"a", 4}, Work: address{"b", 5}, Named: Base{6, "n"}, Last: 7,
	}
	r, _ := appendPlan(t, p, &v, 0)
	assert.Equal(t, "event: id=1 Host=h shown=2 home_city=a home_zip=4 Work_city=b Work_zip=5 http_base_id=6 http_base_Host=n Last=7", r.String())
}

func TestPlanOfAnEmbeddedStructWithAName(t *testing.T) {
	type event struct {
		Base `uevent:"base"`
	}
	assert.Equal(t, "event u32 base_id; __data_loc char[] base_Host", mustPlan[event](t).Declaration().String())
}

func TestPlanOmits(t *testing.T) {
	type event struct {
		A       uint8
		Skipped map[string]int `uevent:"-"`
		private chan int
		status  // embedded, not exported, no struct
		Größe   uint8
		B       uint8 `uevent:"user.id" json:"b"`
		C       uint8 `json:"c"`
	}
	_, _ = event{}.private, event{}.status
	assert.Equal(t, "event u8 A; u8 Gru00f6u00dfe; u8 user_id; u8 C", mustPlan[event](t).Declaration().String())
}

func TestPlanForRefuses(t *testing.T) {
	refuse := func(t *testing.T, err error, problem string) {
		t.Helper()
		require.Error(t, err)
		assert.ErrorContains(t, err, problem)
	}
	tests := []struct {
		name    string
		err     error
		problem string
	}{
		{"no struct", planError[int](), "int is not a struct"},
		{"pointer to a struct", planError[*Base](), "*typedfield_test.Base is not a struct"},
		{"no fields", planError[struct{}](), "the struct: struct {} has no exported fields"},
		{"no exported fields", planError[struct{ a int }](), "has no exported fields"},
		{"map", planError[struct{ M map[string]int }](), "field M: map[string]int is not supported"},
		{"pointer", planError[struct{ P *int }](), "field P: *int is not supported: use the value"},
		{"interface", planError[struct{ E error }](), "field E: error is not supported: use a string"},
		{"channel", planError[struct{ C chan int }](), "field C: chan int is not supported"},
		{"function", planError[struct{ F func() }](), "field F: func() is not supported"},
		{"complex", planError[struct{ C complex64 }](), "field C: complex64 is not supported"},
		{"uintptr", planError[struct{ P uintptr }](), "field P: uintptr is not supported"},
		{"slice of strings", planError[struct{ S []string }](), "field S: []string is not supported: the kernel has arrays of integers only"},
		{"slice of int", planError[struct{ S []int }](), "field S: []int is not supported: the size of its elements depends on the platform"},
		{"array of uint", planError[struct{ S [2]uint }](), "use int64 or uint64"},
		{"slice of floats", planError[struct{ S []float64 }](), "arrays of integers only"},
		{"slice of bools", planError[struct{ S []bool }](), "arrays of integers only"},
		{"array of nothing", planError[struct{ S [0]byte }](), "field S: [0]uint8 is not supported: it is empty"},
		{"long array", planError[struct{ S [2030]byte }](), "numbers and byte arrays take 4065 bytes, as byte arrays are written as hex digits, and"},
		{"just too long array", planError[struct {
			N uint8
			S [2029]byte
		}](), "numbers and byte arrays take 4064 bytes"},
		{"nested", planError[struct{ A struct{ B struct{ C *int } } }](), "field A.B.C: *int is not supported"},
		{"embedded", planError[struct{ embeddedPointer }](), "field embeddedPointer.P: *int is not supported"},
		{"embedded pointer", planError[struct{ *Base }](), "field Base: *typedfield_test.Base is not supported"},
		{"nested without fields", planError[struct{ A struct{ b int } }](), "field A: struct { b int } has no exported fields"},
		{"tag on a field that is not exported", planError[struct {
			a int `uevent:"a"`
		}](), "field a: has a tag, but is not exported"},
		{"unknown option", planError[struct {
			A int `uevent:"a,omitempty"`
		}](), `field A: unknown option "omitempty"`},
		{"two options", planError[struct {
			A []byte `uevent:"a,text,raw"`
		}](), `field A: unknown option "text,raw"`},
		{"uuid of 15 bytes", planError[struct {
			A [15]byte `uevent:",uuid"`
		}](), "field A: option uuid does not apply to [15]uint8"},
		{"uuid of 16 numbers", planError[struct {
			A [16]int16 `uevent:",uuid"`
		}](), "field A: option uuid does not apply to [16]int16"},
		{"uuid of a string", planError[struct {
			A string `uevent:",uuid"`
		}](), "field A: option uuid does not apply to string"},
		{"text of a string", planError[struct {
			A string `uevent:",text"`
		}](), "field A: option text does not apply to string"},
		{"raw of an array", planError[struct {
			A [4]byte `uevent:",raw"`
		}](), "option raw does not apply"},
		{"scale of an integer", planError[struct {
			A int `uevent:",scale=10"`
		}](), "field A: option scale does not apply to int"},
		{"option of a struct", planError[struct {
			A Base `uevent:",text"`
		}](), "field A: option text does not apply to typedfield_test.Base"},
		{"scale 0", planError[struct {
			A float64 `uevent:",scale=0"`
		}](), `field A: scale "0" is not a positive integer`},
		{"scale 0.5", planError[struct {
			A float64 `uevent:",scale=0.5"`
		}](), `scale "0.5" is not a positive integer`},
		{"same name", planError[struct {
			A int `uevent:"x.y"`
			B int `uevent:"x_y"`
		}](), "field B: its name x_y is taken by field A"},
		{"same name as an embedded field", planError[struct {
			Base
			X uint8 `uevent:"id"`
		}](), "field X: its name id is taken by field Base.ID"},
		{"event name", namedPlanError[Base]("no.event"), `event name "no.event" must consist of`},
		{"too much", planError[struct{ A, B, C, D, E, F, G, H [508]byte }](), "numbers and byte arrays take 8168 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { refuse(t, tt.err, tt.problem) })
	}
}

type embeddedPointer struct{ P *int }

func planError[T any]() error { return namedPlanError[T]("event") }

func namedPlanError[T any](name string) error {
	_, err := typed.PlanFor[T](name)
	return err
}

func TestPlanForRefusesManyFields(t *testing.T) {
	err := planError[struct {
		Field1, Field2, Field3, Field4, Field5, Field6, Field7, Field8, Field9, Field10          string
		Field11, Field12, Field13, Field14, Field15, Field16, Field17, Field18, Field19, Field20 string
	}]()
	assert.ErrorContains(t, err, "the kernel takes 511")
}

// As many dynamic fields as a declaration can hold, all of them to be cut.
func TestPlanOfManyDynamicFields(t *testing.T) {
	type event struct {
		A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T, U, V, W, X string
	}
	type arrays struct {
		A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T, U, V, W, X, Y, Z []int8
	}
	text := strings.Repeat("x", 1000)
	v := event{A: text, M: text, X: text, B: "short"}
	p := mustPlan[event](t)
	r, cut := appendPlan(t, p, &v, 1000)
	assert.Positive(t, cut)
	b, _ := r.Lookup("B")
	assert.Equal(t, "short", b.Text())

	w := arrays{A: make([]int8, 3000), Z: make([]int8, 3000)}
	_, cut = appendPlan(t, mustPlan[arrays](t), &w, 0)
	assert.Positive(t, cut)
}

func TestPlanPanicsOnNil(t *testing.T) {
	p := mustPlan[Base](t)
	assert.Panics(t, func() { p.Append(nil, nil, 0) })
}

// TestPlanOfTheLongestArray: what takes one byte less than tracing tools lose is accepted.
func TestPlanOfTheLongestArray(t *testing.T) {
	type event struct{ S [2029]byte }
	r, cut := appendPlan(t, mustPlan[event](t), &event{}, 0)
	assert.Zero(t, cut)
	assert.Equal(t, "event: S="+strings.Repeat("00", 2029), r.String())
}

func TestPlanOfScaleOne(t *testing.T) {
	type event struct {
		F float64 `uevent:",scale=1"`
	}
	r, _ := appendPlan(t, mustPlan[event](t), &event{2.5}, 0)
	assert.Equal(t, "event: F=3", r.String())
}
