package sloghandler_test

import (
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// Next to the handler that a program has.
func ExampleNew() {
	events, err := sloghandler.New("myapp", nil)
	if err != nil {
		log.Print(err) // what this machine lacks; the handler works, and is never enabled
	}
	defer events.Close()
	withoutTime := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}
	logger := slog.New(slog.NewMultiHandler(slog.NewJSONHandler(os.Stdout, withoutTime), events))
	logger.Info("request served", "method", "GET", "status", 200)
	// Output: {"level":"INFO","msg":"request served","method":"GET","status":200}
}

// What a tracer sees, in a test.
func ExampleOptions() {
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	events, err := sloghandler.New("myapp", &sloghandler.Options{Provider: p, Level: slog.LevelInfo})
	if err != nil {
		log.Fatal(err)
	}
	defer events.Close()
	tracer, err := kernel.Attach(ueventstest.Perf, "myapp_*")
	if err != nil {
		log.Fatal(err)
	}

	slog.New(events).WithGroup("http").Warn("slow", "route", "/users/{id}")

	for _, r := range tracer.Records() {
		decoder, err := typed.NewDecoder(r.Declaration, nil)
		if err != nil {
			log.Fatal(err)
		}
		record, err := decoder.Decode(r.Payload)
		if err != nil {
			log.Fatal(err)
		}
		for _, name := range []string{"level", "message", "attributes"} {
			v, _ := record.Lookup(name)
			fmt.Println(name, string(v.AppendTo(nil)))
		}
	}
	// Output:
	// level 4
	// message slow
	// attributes {"http":{"route":"/users/{id}"}}
}
