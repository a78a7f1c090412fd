package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

func init() { runtime.LockOSThread() }

type tb struct{ testing.TB }

func (tb) Helper()                   {}
func (tb) Cleanup(func())            {}
func (tb) Fatalf(f string, a ...any) { panic(fmt.Sprintf(f, a...)) }
func (tb) Context() context.Context  { return context.Background() }

type HTTPRequest struct {
	Method  string        `uevent:"method"`
	Route   string        `uevent:"route"`
	Status  uint16        `uevent:"status"`
	Latency time.Duration `uevent:"latency_ns"`
	Cached  bool          `uevent:"cached"`
}

func main() {
	debug.SetGCPercent(-1)
	runtime.GOMAXPROCS(2)
	k := ueventstest.New(tb{}, nil)
	o := sloghandler.Options{Provider: k.Provider()}
	d := sloghandler.Declare[HTTPRequest]("http request", nil)
	pattern := "app_info"
	switch os.Args[1] {
	case "declared", "direct", "declaredbound", "suffix", "boundcaptured":
		o.Declared = []sloghandler.Declared{d}
		pattern = "app_http_request"
	case "eventheader":
		o.Encoding = sloghandler.EventHeader
		pattern = "app_L4K2"
	case "fromctx":
		o.AttrFromContext = []func(context.Context) []slog.Attr{func(context.Context) []slog.Attr { return nil }}
	case "replace":
		o.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr { return a }
	}
	h, err := sloghandler.New("app", &o)
	if err != nil {
		panic(err)
	}
	var log = slog.New(h)
	l := d.Logger(h)
	switch os.Args[1] {
	case "bound", "declaredbound":
		log = log.With("service", "shop", "shard", 7)
	case "suffix":
		log = log.With("us", "shop", "tus", 7)
	case "boundcaptured":
		log = log.With("cached", true)
	}
	tool, err := k.Attach(ueventstest.Ftrace, pattern)
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	call := func() {
		switch os.Args[1] {
		case "direct":
			l.Log(ctx, slog.LevelInfo, &HTTPRequest{"GET", "/users/{id}", 200, 1500 * time.Microsecond, false})
		case "none":
			log.LogAttrs(ctx, slog.LevelInfo, "http request")
		default:
			log.LogAttrs(ctx, slog.LevelInfo, "http request",
				slog.String("method", "GET"),
				slog.String("route", "/users/{id}"),
				slog.Int("status", 200),
				slog.Duration("latency", 1500*time.Microsecond),
				slog.Bool("cached", false))
		}
	}
	for range 200 {
		call()
	}
	tool.Records()
	for range 6 {
		syscall.RawSyscall(110, 0, 0, 0)
		call()
	}
	syscall.RawSyscall(110, 0, 0, 0)
}
