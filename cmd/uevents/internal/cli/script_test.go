package cli

import (
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"testing"
	"time"

	"github.com/google/pprof/driver"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/tracepoint"
	"github.com/userevents/userevents-go/uevents"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"programs":      programs,
		"uevents":       func() { os.Exit(Main()) },
		"logprogram":    program(logProgram),
		"writeprogram":  program(writeProgram),
		"manyprogram":   program(manyProgram),
		"stateprogram":  program(stateProgram),
		"headerprogram": program(headerProgram),
		"webserver":     program(webServer),
		"otelprogram":   program(otelProgram),
		"pprof":         program(func([]string) error { return driver.PProf(&driver.Options{}) }), // what go tool pprof is made of
	})
}

// request is a declared record.
type request struct {
	Route   string        `uevent:"route"`
	Status  uint16        `uevent:"status"`
	Latency time.Duration `uevent:"latency_ns"`
}

// programs registers the events of several kinds of programs, creates the file of its argument, and logs until it gets
// a signal.
func programs() {
	err := func() error {
		p, err := uevents.Open(nil)
		if err != nil {
			return err
		}
		defer p.Close()
		typed, err := sloghandler.New("myapp", &sloghandler.Options{
			Provider: p, Declared: []sloghandler.Declared{sloghandler.Declare[request]("request", nil)},
		})
		if err != nil {
			return err
		}
		if _, err := sloghandler.New("billing", &sloghandler.Options{Provider: p, Encoding: sloghandler.EventHeader}); err != nil {
			return err
		}
		if _, err := p.Register(tracepoint.MustParse("sensor u32 id; s64 value; struct raw data 16; char[8] unit"), nil); err != nil {
			return err
		}
		interrupted := make(chan os.Signal, 1)
		signal.Notify(interrupted, os.Interrupt)
		if err := os.WriteFile(os.Args[1], nil, 0o600); err != nil {
			return err
		}
		logger := slog.New(typed)
		for n := 0; ; n++ {
			select {
			case <-interrupted:
				return nil
			case <-time.After(2 * time.Millisecond):
			}
			route := []string{"/users/{id}", "/login"}[n%2]
			logger.Info("request", "route", route, "status", 200+300*(n%2), "latency", time.Duration(1+n%2)*time.Millisecond)
			logger.Warn("slow", "route", route)
		}
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "programs:", err)
		os.Exit(1)
	}
}

// TestScripts: command lines with all their output. They need no kernel with user_events: they read testdata/tracefs,
// files copied from a real one.
func TestScripts(t *testing.T) {
	testscale.HostOnly(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			return os.CopyFS(env.WorkDir+"/tracefs", os.DirFS("testdata/tracefs"))
		},
	})
}
