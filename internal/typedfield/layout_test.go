package typedfield_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/leakcheck"
	"github.com/userevents/userevents-go/internal/recordtest"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/typedfield"
	"github.com/userevents/userevents-go/tracepoint"
)

func mustParse(t testing.TB, command string) tracepoint.Declaration {
	t.Helper()
	d, err := tracepoint.Parse(command)
	require.NoError(t, err)
	return d
}

func mustLayout(t testing.TB, command string) *typedfield.Layout {
	t.Helper()
	return layoutOf(t, mustParse(t, command))
}

func layoutOf(t testing.TB, d tracepoint.Declaration) *typedfield.Layout {
	t.Helper()
	l, err := typedfield.NewLayout(d)
	require.NoError(t, err)
	return l
}

func TestLayout(t *testing.T) {
	const command = "event u8 a; u16 b; u64 c; char[5] d; struct p e 12; __data_loc char[] f; __data_loc s32[] g; int h"
	l := mustLayout(t, command)
	assert.Equal(t, command, l.Declaration().String())
	assert.Equal(t, command, l.Declaration().String())
	assert.Equal(t, []int{0, 1, 3, 11, 16, 28, 32, 36}, l.Offsets())
	assert.Equal(t, 40, l.FixedSize())
}

func TestLayoutOffsetsAreTheCallers(t *testing.T) {
	l := mustLayout(t, "event u8 a; u16 b")
	l.Offsets()[1] = 99
	assert.Equal(t, []int{0, 1}, l.Offsets())
}

// A payload that nothing was filled in to is complete: zero and empty.
func TestBeginMakesAnEmptyPayload(t *testing.T) {
	tests := []struct{ command, want string }{
		{"event", "event:"},
		{"event u32 a; s64 b", "event: a=0 b=0"},
		{"event char[3] a; unsigned char[2] b", "event: a= b="},
		{"event struct p a 3", "event: a=00,00,00"},
		{"event __data_loc char[] a", "event: a="},
		{"event __data_loc unsigned char[] a", "event: a="},
		{"event __rel_loc u32[] a", "event: a={}"},
		{"event __data_loc u32[] a", "event: a={}"},
		{"event __data_loc char[] a; u8 b; __data_loc char[] c; __data_loc u8[] d; __rel_loc u8[] e", "event: a= b=0 c= d={} e={}"},
	}
	for _, tt := range tests {
		l := mustLayout(t, tt.command)
		b := l.Begin([]byte(prefix))
		payload := b[len(prefix):]
		assert.Equal(t, prefix, string(b[:len(prefix)]))
		assert.Len(t, payload, l.FixedSize(), tt.command)
		recordtest.RequireAccepted(t, l.Declaration(), payload)

		dec, err := typed.NewDecoder(l.Declaration(), nil)
		require.NoError(t, err)
		r, err := dec.Decode(payload)
		require.NoError(t, err, tt.command)
		assert.Equal(t, tt.want, r.String())
	}
}

// Consumers read text up to a NUL, so that even an empty one must refer to one, whatever is in the other fields. At
// location 0 the kernel would look for the NUL before the record.
func TestEmptyTextsReferToANUL(t *testing.T) {
	l := mustLayout(t, "event __data_loc char[] a; u64 b; __data_loc char[] c")
	payload := l.Begin(nil)
	typedfield.PutU64(payload, l.Offsets()[1], 0x7878787878787878)
	for _, at := range []int{l.Offsets()[0], l.Offsets()[2]} {
		word := binary.NativeEndian.Uint32(payload[at:])
		begin, size := int(word&0xFFFF)-tracepoint.CommonSize, int(word>>16)
		assert.Equal(t, 1, size)
		assert.Equal(t, byte(0), payload[begin])
	}
}

func TestNewLayoutRefuses(t *testing.T) {
	_, err := typedfield.NewLayout(tracepoint.Declaration{Name: "no-event"})
	assert.ErrorIs(t, err, tracepoint.ErrInvalid)

	var fields []string
	for i := range 4 {
		fields = append(fields, fmt.Sprintf("char[1016] f%d", i))
	}
	d := mustParse(t, "event "+strings.Join(fields, "; "))
	require.Equal(t, typedfield.DefaultLimit, d.FixedSize())
	_, err = typedfield.NewLayout(d)
	assert.ErrorIs(t, err, tracepoint.ErrInvalid)
	assert.ErrorContains(t, err, "fixed part of 4064 bytes, and tracing tools keep less than 4064")
	var whole *tracepoint.Error
	require.ErrorAs(t, err, &whole)
	assert.Equal(t, -1, whole.Field, "no field is at fault")

	_, err = typedfield.NewLayout(mustParse(t, "event u8 a; __rel_loc char[] b"))
	assert.ErrorIs(t, err, tracepoint.ErrInvalid)
	assert.ErrorContains(t, err, "declare it as __data_loc")

	d.Fields = d.Fields[:3]
	_, err = typedfield.NewLayout(d)
	assert.NoError(t, err)
}

func requireAllocs(t *testing.T, want float64, f func()) {
	t.Helper()
	testscale.CountAllocations(t)
	assert.Equal(t, want, testing.AllocsPerRun(100, f))
}

// A record of a log as package sloghandler has it, with everything that makes a text difficult.
func TestLayoutDoesNotAllocate(t *testing.T) {
	e := newLogEncoder(t)
	buf := make([]byte, 4, 4096)
	for _, msg := range []string{"plain", "", "größe\n\xff", strings.Repeat("\n", 5000)} {
		requireAllocs(t, 0, func() {
			id := [16]byte{1, 2, 3}
			e.append(buf, msg, id)
		})
	}
}

func TestPlanDoesNotAllocate(t *testing.T) {
	p := mustPlan[everything](t)
	buf := make([]byte, 4, 4096)
	requireAllocs(t, 0, func() {
		// Neither the struct nor what its slices refer to escapes.
		var digest [5]byte
		var codes [3]int16
		v := everything{
			Text: "größe\n", Bytes: digest[:], Body: digest[:], Raw: digest[:], IP: digest[:4], S16: codes[:],
			Addr: netip.AddrFrom4([4]byte{192, 0, 2, 1}), F64: 0.25, At: time.Unix(1, 0),
		}
		p.Append(buf, &v, 0)
	})
	long := strings.Repeat("größe\n", 2000)
	requireAllocs(t, 0, func() {
		v := everything{Text: long}
		p.Append(buf, &v, 0)
	})
}

func TestPlanOfStringsDoesNotAllocate(t *testing.T) {
	p := mustPlan[HTTPRequest](t)
	buf := make([]byte, 4, 4096)
	requireAllocs(t, 0, func() {
		v := HTTPRequest{Method: "GET", Route: "/users/{id}", Host: "example.com", Status: 200, Latency: time.Millisecond}
		p.Append(buf, &v, 0)
	})
}

func TestFieldsDoNotAllocate(t *testing.T) {
	f, direct := mustFields[everything](t), mustFields[HTTPRequest](t)
	buf := make([]byte, 8192)
	long, size := strings.Repeat("größe\n", 2000), fixedSize(f)
	requireAllocs(t, 0, func() {
		var digest [5]byte
		var codes [3]int16
		v := everything{
			Text: long, Bytes: digest[:], Body: digest[:], Raw: digest[:], IP: digest[:4], S16: codes[:],
			Addr: netip.AddrFrom4([4]byte{192, 0, 2, 1}), F64: 0.25, At: time.Unix(1, 0),
		}
		f.Append(buf[:size], 0, 0, &v, 4064)
		r := HTTPRequest{Method: "GET", Route: "/users/{id}", Host: "example.com", Status: 200, Latency: time.Millisecond}
		direct.Append(buf[:100], 0, 20, &r, 4064)
		// A way that is not taken makes nothing escape either.
		if sink < 0 {
			f.Value(0, &v)
			direct.Value(0, &r)
		}
	})
}

// TestFieldsReuseTheBuffer: a buffer that has room is not reallocated, and one that has none grows to what is needed.
func TestFieldsReuseTheBuffer(t *testing.T) {
	f := mustFields[everything](t)
	buf := make([]byte, fixedSize(f), 4096)
	out, _ := f.Append(buf, 0, 0, &sample, 4064)
	assert.Same(t, &buf[0], &out[0])
	requireAllocs(t, 0, func() { f.Append(buf, 0, 0, &sample, 4064) })
	small, _ := f.Append(make([]byte, fixedSize(f)), 0, 0, &sample, 4064)
	assert.Equal(t, out, small)
	assert.Less(t, cap(small), 2048)
}

// TestPlanNeedsNoRoomForTheLimit: a buffer that has room for the record does not grow to the limit.
func TestPlanNeedsNoRoomForTheLimit(t *testing.T) {
	p := mustPlan[HTTPRequest](t)
	v := HTTPRequest{Method: "GET", Route: "/users/{id}", Status: 200}
	want, _ := p.Append(nil, &v, typedfield.DefaultLimit)
	buf := make([]byte, 4, 4+len(want))
	requireAllocs(t, 0, func() { p.Append(buf, &v, typedfield.DefaultLimit) })
	got, _ := p.Append(buf, &v, typedfield.DefaultLimit)
	assert.Equal(t, want, got[4:])
	got, _ = p.Append(buf[:5], &v, typedfield.DefaultLimit)
	assert.Equal(t, want, got[5:], "and one that lacks a byte grows")
}

func TestPlanGrowsABufferOnce(t *testing.T) {
	p := mustPlan[everything](t)
	v := sample
	requireAllocs(t, 1, func() { p.Append(nil, &v, 0) })
}

func TestMain(m *testing.M) { leakcheck.Main(m) }

// HTTPRequest is the event that budgets are stated for: five fields, three of them strings.
type HTTPRequest struct {
	Method  string        `uevent:"method"`
	Route   string        `uevent:"route"`
	Host    string        `uevent:"host"`
	Status  uint16        `uevent:"status"`
	Latency time.Duration `uevent:"latency_ns"`
}

// logEncoder writes the record of a log through a Layout.
type logEncoder struct {
	layout                                                               *typedfield.Layout
	time, level, message, traceID, spanID, source, attributes, truncated int
}

// start is where the payload begins, behind the write index.
const start = 4

func newLogEncoder(t testing.TB) *logEncoder {
	l := mustLayout(t, "myapp_info u64 time_ns; s32 level; __data_loc char[] msg; __data_loc char[] trace_id; __data_loc char[] span_id; "+
		"__data_loc char[] source; __data_loc char[] attributes; u32 truncated")
	at := l.Offsets()
	return &logEncoder{l, start + at[0], start + at[1], start + at[2], start + at[3], start + at[4], start + at[5], start + at[6], start + at[7]}
}

func (e *logEncoder) append(buf []byte, msg string, id [16]byte) []byte {
	const room = typedfield.DefaultLimit
	b := e.layout.Begin(buf[:4])
	typedfield.PutU64(b, e.time, 1700000000000000000)
	typedfield.PutU32(b, e.level, 4)
	b = typedfield.AppendHex(b, start, e.traceID, id[:])
	b = typedfield.AppendHex(b, start, e.spanID, id[:8])
	b, cut := typedfield.AppendString(b, start, e.message, msg, room-len(b)-100)
	b, _ = typedfield.AppendString(b, start, e.source, "server.go:42", room-len(b))
	begin := len(b)
	b = append(b, `{"user":"joe","tries":3}`...)
	b = typedfield.EndText(b, start, e.attributes, begin)
	typedfield.PutU32(b, e.truncated, uint32(cut))
	return b
}

var sink int

// BenchmarkFloor is what a benchmark costs that does nothing.
func BenchmarkFloor(b *testing.B) {
	for b.Loop() {
		sink++
	}
}

func BenchmarkPlan(b *testing.B) {
	b.Run("HTTPRequest", func(b *testing.B) {
		p := mustPlan[HTTPRequest](b)
		v := HTTPRequest{"GET", "/v1/users/{id}", "example.com", 404, 1500}
		benchmarkPlan(b, p, &v)
	})
	b.Run("TwoStrings", func(b *testing.B) {
		type event struct {
			Method  string
			Route   string
			Status  uint16
			Latency time.Duration
			Bytes   uint64
		}
		benchmarkPlan(b, mustPlan[event](b), &event{"GET", "/v1/users/{id}", 404, 1500, 4096})
	})
	b.Run("NotASCII", func(b *testing.B) {
		p := mustPlan[HTTPRequest](b)
		v := HTTPRequest{"GET", "/v1/größe/{id}", "example.com", 404, 1500}
		benchmarkPlan(b, p, &v)
	})
	b.Run("Float", func(b *testing.B) {
		type event struct {
			HTTPRequest
			Load float64 `uevent:"load"`
		}
		benchmarkPlan(b, mustPlan[event](b), &event{HTTPRequest{"GET", "/v1/users/{id}", "example.com", 404, 1500}, 0.75})
	})
	b.Run("EveryType", func(b *testing.B) {
		v := sample
		benchmarkPlan(b, mustPlan[everything](b), &v)
	})
}

func benchmarkPlan[T any](b *testing.B, p *typed.Plan[T], v *T) {
	buf := make([]byte, 4, 4096)
	b.ReportAllocs()
	for b.Loop() {
		out, _ := p.Append(buf, v, typedfield.DefaultLimit)
		sink += len(out)
	}
}

// BenchmarkFields: the same fields behind those of a log record.
func BenchmarkFields(b *testing.B) {
	f := mustFields[HTTPRequest](b)
	v := HTTPRequest{"GET", "/v1/users/{id}", "example.com", 404, 1500}
	buf := make([]byte, 4096)
	b.ReportAllocs()
	for b.Loop() {
		out, _ := f.Append(buf[:start+60], start, start+12, &v, typedfield.DefaultLimit)
		sink += len(out)
	}
}

func BenchmarkLayoutLogRecord(b *testing.B) {
	e := newLogEncoder(b)
	buf := make([]byte, 4, 4096)
	id := [16]byte{1, 2, 3}
	b.ReportAllocs()
	for b.Loop() {
		sink += len(e.append(buf, "request finished with an error", id))
	}
}
