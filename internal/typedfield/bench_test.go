package typedfield_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/typedfield"
)

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

func BenchmarkDecode(b *testing.B) {
	p := mustPlan[HTTPRequest](b)
	payload, _ := p.Append(nil, &HTTPRequest{"GET", "/v1/users/{id}", "example.com", 404, 1500}, 0)
	dec, err := typed.NewDecoder(p.Declaration(), nil)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		r, _ := dec.Decode(payload)
		sink += len(r.String())
	}
}
