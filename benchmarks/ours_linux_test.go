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

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/exporter/ueventslog"
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
