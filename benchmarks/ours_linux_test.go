package benchmarks

import (
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/userevents/userevents-go/encode/eventheader"
	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

// HTTPRequest is the record as a struct event.
type HTTPRequest struct {
	Method  string        `uevent:"method"`
	Route   string        `uevent:"route"`
	Status  uint16        `uevent:"status"`
	Latency time.Duration `uevent:"latency_ns"`
	Cached  bool          `uevent:"cached"`
}

// own is a way to write the record with this project. make returns the call and the name of
// the event that it writes.
type own struct {
	name string
	make func(tb testing.TB, name string) (call func(), event string)
}

var owns = []own{
	{"slog-typed", func(tb testing.TB, name string) (func(), string) {
		return slogCall(newHandler(tb, name, nil)), name + "_info"
	}},
	{"slog-typed-bound", func(tb testing.TB, name string) (func(), string) {
		h := newHandler(tb, name, nil).WithAttrs([]slog.Attr{slog.String("service", "shop"), slog.Int("shard", 7)})
		return slogCall(h), name + "_info"
	}},
	{"slog-declared", func(tb testing.TB, name string) (func(), string) {
		h := newHandler(tb, name, &sloghandler.Options{Records: []sloghandler.Record{{Message: message, Name: "request", Fields: []sloghandler.Field{
			{Key: "method"}, {Key: "route"}, {Key: "status", Type: sloghandler.Uint16}, {Key: "latency", Type: sloghandler.Duration}, {Key: "cached", Type: sloghandler.Bool},
		}}}})
		return slogCall(h), name + "_request"
	}},
	{"slog-eventheader", func(tb testing.TB, name string) (func(), string) {
		return slogCall(newHandler(tb, name, &sloghandler.Options{Encoding: sloghandler.EventHeader})), name + "_L4K1"
	}},
	{"struct", func(tb testing.TB, name string) (func(), string) {
		p, err := uevents.Open(nil)
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, p.Close()) })
		ev, err := structevent.Define[HTTPRequest](p, name, nil)
		require.NoError(tb, err)
		return func() {
			if ev.Enabled() {
				ev.Emit(&HTTPRequest{Method: method, Route: route, Status: status, Latency: latency, Cached: cached})
			}
		}, name
	}},
}

func newHandler(tb testing.TB, name string, o *sloghandler.Options) *sloghandler.Handler {
	h, err := sloghandler.New(name, o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, h.Close()) })
	return h
}

var names int

func uniqueName() string {
	names++
	return fmt.Sprintf("bench_%d_%d", os.Getpid(), names)
}

// TestOwn: every way writes the whole record, and nothing when off.
func TestOwn(t *testing.T) {
	fs := kerneltest.Require(t)
	for _, o := range owns {
		t.Run(o.name, func(t *testing.T) {
			call, event := o.make(t, uniqueName())
			i := kerneltest.NewInstance(t, fs, 64)
			call()
			i.Attach(event)
			assert.Empty(t, i.Records())
			call()
			records := i.Records()
			require.Len(t, records, 1)
			text := decoded(t, fs.Format, event, records[0].Payload)
			for _, part := range []string{method, route, "200", "1500000"} {
				assert.Contains(t, text, part)
			}
		})
	}
}

// decoded returns a record as text, whatever it is encoded in.
func decoded(t *testing.T, format func(string) ([]byte, error), event string, payload []byte) string {
	text, err := format(event)
	require.NoError(t, err)
	f, err := tracepoint.ParseFormat(string(text))
	require.NoError(t, err)
	d, err := f.Declaration()
	require.NoError(t, err)
	if eventheader.IsDeclaration(d) {
		ev, err := eventheader.Decode(event, payload)
		require.NoError(t, err)
		text, err := ev.AppendFieldsJSON(nil)
		require.NoError(t, err)
		return string(text)
	}
	decoder, err := typed.NewDecoder(d, nil)
	require.NoError(t, err)
	r, err := decoder.Decode(payload)
	require.NoError(t, err)
	return r.String()
}

// BenchmarkOwnOff is the call while nobody traces.
func BenchmarkOwnOff(b *testing.B) {
	kerneltest.Require(b)
	for _, o := range owns {
		call, _ := o.make(b, uniqueName())
		run(b, o.name, call)
	}
}

// BenchmarkOwnOn is the call while ftrace records the event.
func BenchmarkOwnOn(b *testing.B) {
	fs := kerneltest.Require(b)
	for _, o := range owns {
		call, event := o.make(b, uniqueName())
		i := kerneltest.NewInstance(b, fs, 64)
		i.Attach(event)
		run(b, o.name, call)
		i.Detach()
	}
}

// BenchmarkWrite is one event of a payload that is made already, by its size.
func BenchmarkWrite(b *testing.B) {
	fs := kerneltest.Require(b)
	p, err := uevents.Open(nil)
	require.NoError(b, err)
	defer p.Close()
	name := uniqueName()
	ev, err := p.Register(tracepoint.Declaration{Name: name}, nil)
	require.NoError(b, err)
	i := kerneltest.NewInstance(b, fs, 256)
	i.Attach(name)
	for _, size := range []int{64, 256, 1024, 4064} {
		buf := make([]byte, uevents.IndexSize+size)
		run(b, fmt.Sprint(size), func() { _ = ev.Write(buf) })
	}
	i.Detach()
}
