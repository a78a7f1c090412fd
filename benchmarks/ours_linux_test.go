package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventsmetric/otlp"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/internal/kerneltest"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/structevent"
	"github.com/userevents/userevents-go/uevents"
)

// Five is the record with five attributes as a struct event.
type Five struct {
	Method  string        `uevent:"method"`
	Route   string        `uevent:"route"`
	Status  uint16        `uevent:"status"`
	Latency time.Duration `uevent:"latency_ns"`
	Cached  bool          `uevent:"cached"`
}

// Ten is the record with ten.
type Ten struct {
	Five
	Host    string  `uevent:"host"`
	Size    uint32  `uevent:"size"`
	Attempt uint8   `uevent:"attempt"`
	Load    float64 `uevent:"load"`
	Secure  bool    `uevent:"secure"`
}

// own is a way to write the record with this project. open returns the call and the name of
// the event that it writes; name is what events are called after.
type own struct {
	name      string
	bare      bool // the event's name stands for the message
	scenarios []scenario
	open      func(tb testing.TB, name string, s scenario) (log func(), event string)
}

// owns are all ways. A new one also needs a row in report/benchmarks.md.tmpl.
var owns = []own{
	{"sloghandler", false, scenarios, func(tb testing.TB, name string, s scenario) (func(), string) {
		return slogCall(newHandler(tb, name, nil), s), name + "_info"
	}},
	{"sloghandler-declared", true, []scenario{five, ten, bound}, func(tb testing.TB, name string, s scenario) (func(), string) {
		return slogCall(newHandler(tb, name, &sloghandler.Options{Declarations: []sloghandler.AnyDeclaration{declared(s)}}), s), name + "_request"
	}},
	{"sloghandler-direct", true, []scenario{five, ten}, func(tb testing.TB, name string, s scenario) (func(), string) {
		ctx, h := context.Background(), newHandler(tb, name, &sloghandler.Options{Declarations: []sloghandler.AnyDeclaration{declared(s)}})
		if s.attrs == 5 {
			log := declaredFive.Logger(h)
			return func() {
				if log.Enabled(ctx, slog.LevelInfo) {
					log.Log(ctx, slog.LevelInfo, &Five{Method: method, Route: route, Status: status, Latency: latency, Cached: cached})
				}
			}, name + "_request"
		}
		log := declaredTen.Logger(h)
		return func() {
			if log.Enabled(ctx, slog.LevelInfo) {
				log.Log(ctx, slog.LevelInfo, &Ten{
					Five: Five{Method: method, Route: route, Status: status, Latency: latency, Cached: cached},
					Host: host, Size: size, Attempt: attempt, Load: load, Secure: secure,
				})
			}
		}, name + "_request"
	}},
	{"structevent", true, []scenario{five, ten}, func(tb testing.TB, name string, s scenario) (func(), string) {
		p, err := uevents.Open(nil)
		allow(tb, err)
		tb.Cleanup(func() { require.NoError(tb, p.Close()) })
		if s.attrs == 5 {
			ev := define[Five](tb, p, name)
			return func() {
				if ev.Enabled() {
					ev.Emit(&Five{Method: method, Route: route, Status: status, Latency: latency, Cached: cached})
				}
			}, name
		}
		ev := define[Ten](tb, p, name)
		return func() {
			if ev.Enabled() {
				ev.Emit(&Ten{
					Five: Five{Method: method, Route: route, Status: status, Latency: latency, Cached: cached},
					Host: host, Size: size, Attempt: attempt, Load: load, Secure: secure,
				})
			}
		}, name
	}},
	{"otelslog-ueventslog", false, scenarios, func(tb testing.TB, name string, s scenario) (func(), string) {
		p, err := ueventslog.NewLoggerProvider(name)
		allow(tb, err)
		tb.Cleanup(func() { require.NoError(tb, p.Shutdown(context.Background())) })
		return slogCall(otelslog.NewHandler("benchmarks", otelslog.WithLoggerProvider(p)), s), name + "_log_info"
	}},
	{"otelslog-ueventslog-processor", false, scenarios, func(tb testing.TB, name string, s scenario) (func(), string) {
		p, err := ueventslog.NewProcessor(name)
		allow(tb, err)
		provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(p))
		tb.Cleanup(func() { require.NoError(tb, provider.Shutdown(context.Background())) })
		return slogCall(otelslog.NewHandler("benchmarks", otelslog.WithLoggerProvider(provider)), s), name + "_log_info"
	}},
}

var (
	declaredFive = sloghandler.Declare[Five](message, &sloghandler.DeclarationOptions{Name: "request"})
	declaredTen  = sloghandler.Declare[Ten](message, &sloghandler.DeclarationOptions{Name: "request"})
)

func declared(s scenario) sloghandler.AnyDeclaration {
	if s.attrs == 10 {
		return declaredTen
	}
	return declaredFive
}

func define[T any](tb testing.TB, p *uevents.Provider, name string) *structevent.Event[T] {
	ev, err := structevent.Define[T](p, name, nil)
	allow(tb, err)
	return ev
}

func newHandler(tb testing.TB, name string, o *sloghandler.Options) *sloghandler.Handler {
	h, err := sloghandler.New(name, o)
	allow(tb, err)
	tb.Cleanup(func() { require.NoError(tb, h.Close()) })
	return h
}

// allow accepts the error of a machine without user_events: an event that could not be
// registered is never enabled, and costs the same as a registered one while no tool is attached.
func allow(tb testing.TB, err error) {
	if missing := unavailable(); missing == nil || !errors.Is(err, uevents.ErrNotSupported) {
		require.NoError(tb, err)
	}
}

// unavailable says why events cannot be written here.
func unavailable() error {
	return uevents.Probe(&uevents.Options{Transport: uevents.TransportKernel}).Err
}

var names int

func uniqueName() string {
	names++
	return fmt.Sprintf("bench_%d_%d", os.Getpid(), names)
}

// all returns the scenarios, and that of a request if there is a logger that can be bound.
func (o own) all() []scenario {
	if !slices.Contains(o.scenarios, bound) {
		return o.scenarios
	}
	return append(slices.Clip(o.scenarios), request)
}

// ownRequests are this project's calls of BenchmarkRequest.
func ownRequests(b *testing.B) {
	for _, o := range owns {
		if !slices.Contains(o.all(), request) {
			continue
		}
		log, _ := o.open(b, uniqueName(), failed)
		run(b, o.name+"/error", call{log: log})
		log, _ = o.open(b, uniqueName(), request)
		run(b, o.name+"/off", call{log: log})
		if unavailable() == nil {
			log, event := o.open(b, uniqueName(), request)
			kerneltest.NewInstance(b, kerneltest.Require(b), 64).Attach(event)
			run(b, o.name+"/on", call{log: log})
		}
	}
}

// ownContenders are this project's, on only where the kernel has user_events.
func ownContenders() (list []contender) {
	for _, o := range owns {
		c := contender{
			name: o.name, scenarios: o.scenarios,
			off: func(tb testing.TB, s scenario) call {
				log, _ := o.open(tb, uniqueName(), s)
				return call{log: log}
			},
		}
		if unavailable() == nil {
			c.on = func(tb testing.TB, s scenario) call {
				log, event := o.open(tb, uniqueName(), s)
				kerneltest.NewInstance(tb, kerneltest.Require(tb), 64).Attach(event)
				return call{log: log}
			}
		}
		list = append(list, c)
	}
	return list
}

// BenchmarkPerf is the call while perf records the event, not ftrace.
func BenchmarkPerf(b *testing.B) {
	fs := kerneltest.Require(b)
	for _, o := range owns {
		log, event := o.open(b, uniqueName(), five)
		perf := kerneltest.AttachPerfOverwriting(b, fs, event)
		run(b, o.name, call{log: log})
		perf.Detach()
	}
}

// ownMetrics is a way to export data points with this project. open returns the export and the name of the event that it writes.
type ownMetrics struct {
	name string
	open func(tb testing.TB, kind string) (c call, event string)
}

var ownMetricList = []ownMetrics{
	{"ueventsmetric", func(tb testing.TB, kind string) (call, string) {
		name := uniqueName()
		e, err := ueventsmetric.NewExporter(name)
		allow(tb, err)
		return exportCall(tb, e, kind), name + "_metric_" + kind
	}},
	{"ueventsmetric-otlp", func(tb testing.TB, kind string) (call, string) {
		e, err := otlp.NewExporter()
		allow(tb, err)
		return exportCall(tb, e, kind), otlp.EventName
	}},
}

// ownMetricContenders are this project's, on only where the kernel has user_events.
func ownMetricContenders() (list []metricContender) {
	for _, o := range ownMetricList {
		c := metricContender{name: o.name, off: func(tb testing.TB, kind string) call {
			c, _ := o.open(tb, kind)
			return c
		}}
		if unavailable() == nil {
			c.on = func(tb testing.TB, kind string) call {
				c, event := o.open(tb, kind)
				kerneltest.NewInstance(tb, kerneltest.Require(tb), 64).Attach(event)
				return c
			}
		}
		list = append(list, c)
	}
	return list
}

// TestOwnMetrics: every data point arrives, whole, and none while no tool is attached.
func TestOwnMetrics(t *testing.T) {
	fs := kerneltest.Require(t)
	for _, o := range ownMetricList {
		for _, kind := range metricKinds {
			t.Run(o.name+"/"+kind, func(t *testing.T) {
				c, event := o.open(t, kind)
				c.log()
				i := kerneltest.NewInstance(t, fs, 1024)
				i.Attach(event)
				assert.Empty(t, i.Records())
				c.log()
				records := i.Records()
				if o.name == "ueventsmetric" {
					var texts []string
					for _, r := range records {
						texts = append(texts, decoded(t, fs.Event(event), r.Payload))
					}
					assertEach(t, kind, texts)
					return
				}
				format, err := fs.Event(event).Format()
				require.NoError(t, err)
				d, err := format.Declaration()
				require.NoError(t, err)
				decoder, err := typed.NewDecoder(d, nil)
				require.NoError(t, err)
				var bodies [][]byte
				for _, r := range records {
					record, err := decoder.Decode(r.Payload)
					require.NoError(t, err)
					buffer, _ := record.Lookup("buffer")
					bodies = append(bodies, buffer.Bytes())
				}
				assertPoints(t, kind, bodies...)
			})
		}
	}
}

// ownSpans is a way to make spans with this project. open returns the provider; name is what events are called after.
type ownSpans struct {
	name   string
	open   func(tb testing.TB, name string) trace.TracerProvider
	events []string // suffixes of those that are enabled
}

var ownSpanList = []ownSpans{
	{"ueventstrace", openOwnProvider, []string{"_span"}},
	{"ueventstrace-start", openOwnProvider, []string{"_span", "_span_start"}},
	{"ueventstrace-processor", func(tb testing.TB, name string) trace.TracerProvider {
		return sdk(tb, sdktrace.WithSpanProcessor(newSpanProcessor(tb, name)))
	}, []string{"_span"}},
	{"ueventstrace-sampler", func(tb testing.TB, name string) trace.TracerProvider {
		p := newSpanProcessor(tb, name)
		return sdk(tb, sdktrace.WithSpanProcessor(p), sdktrace.WithSampler(ueventstrace.NewSampler(sdktrace.NeverSample(), p)))
	}, []string{"_span"}},
}

func newSpanProcessor(tb testing.TB, name string) *ueventstrace.Processor {
	p, err := ueventstrace.NewProcessor(name)
	allow(tb, err)
	return p
}

func openOwnProvider(tb testing.TB, name string) trace.TracerProvider {
	p, err := ueventstrace.NewTracerProvider(name)
	allow(tb, err)
	tb.Cleanup(func() { require.NoError(tb, p.Shutdown(context.Background())) })
	return p
}

// attach attaches a tool to the events.
func (o ownSpans) attach(tb testing.TB, name string) *kerneltest.Instance {
	i := kerneltest.NewInstance(tb, kerneltest.Require(tb), 64)
	for _, suffix := range o.events {
		i.Attach(name + suffix)
	}
	return i
}

// ownSpanContenders are this project's, on only where the kernel has user_events.
func ownSpanContenders() (list []spanContender) {
	for _, o := range ownSpanList {
		c := spanContender{name: o.name}
		if len(o.events) == 1 {
			c.off = func(tb testing.TB, s scenario) call { return call{log: spanCall(o.open(tb, uniqueName()), s)} }
		}
		if unavailable() == nil {
			c.on = func(tb testing.TB, s scenario) call {
				name := uniqueName()
				log := spanCall(o.open(tb, name), s)
				o.attach(tb, name)
				return call{log: log}
			}
		}
		list = append(list, c)
	}
	return list
}

// TestOwnSpans: a span arrives whole in each of the enabled events, and in none while no tool is attached.
func TestOwnSpans(t *testing.T) {
	fs := kerneltest.Require(t)
	for _, o := range ownSpanList {
		for _, s := range spanScenarios {
			t.Run(o.name+"/"+s.name, func(t *testing.T) {
				name := uniqueName()
				log := spanCall(o.open(t, name), s)
				log()
				i := o.attach(t, name)
				assert.Empty(t, i.Records())
				log()
				var written []string
				for _, r := range i.Records() {
					written = append(written, r.Event)
					text := decoded(t, fs.Event(r.Event), r.Payload)
					for _, part := range spanParts(s) {
						assert.Contains(t, text, part, r.Event)
					}
				}
				slices.Sort(written)
				require.Len(t, written, len(o.events))
				for n, suffix := range o.events {
					assert.Equal(t, name+suffix, written[n])
				}
			})
		}
	}
}
