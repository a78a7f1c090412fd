package sloghandler_test

import (
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

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

// For the whole program: slog.SetDefault also takes over what package log prints.
func ExampleHandler() {
	events, err := sloghandler.New("myapp", nil)
	if err != nil {
		log.Print(err)
	}
	defer events.Close()
	old := slog.Default()
	defer slog.SetDefault(old)
	slog.SetDefault(slog.New(events))
	log.Print("becomes a record of level info")
	slog.Warn("so does this, of level warn")
}

// A library that prints to a log.Logger or an io.Writer, as records of a level that is chosen
// here.
func ExampleHandler_logger() {
	events, err := sloghandler.New("myapp", nil)
	if err != nil {
		log.Print(err)
	}
	defer events.Close()
	errorLog := slog.NewLogLogger(events, slog.LevelError) // for http.Server.ErrorLog
	errorLog.Print("TLS handshake error")

	printed := log.New(os.Stdout, "", 0)
	printed.SetOutput(errorLog.Writer())
	printed.Print("goes to the tracer")
}

// Records of one message as an event of their own, which the kernel filters and adds up:
//
//	echo 'hist:keys=route,status:vals=latency_ns' > events/user_events/myapp_http_request/trigger
func ExampleRecord() {
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	events, err := sloghandler.New("myapp", &sloghandler.Options{Provider: p, Records: []sloghandler.Record{
		{Message: "http request", Fields: []sloghandler.Field{
			{Key: "route"},
			{Key: "status", Type: sloghandler.Uint16},
			{Key: "latency", Type: sloghandler.Duration},
		}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer events.Close()
	tracer, err := kernel.Attach(ueventstest.Ftrace, "myapp_http_request")
	if err != nil {
		log.Fatal(err)
	}

	logger := slog.New(events).With("route", "/users/{id}")
	logger.Info("http request", "status", 200, "latency", 1500*time.Microsecond, "cached", true)
	logger.Info("another message")

	for _, r := range tracer.Records() {
		decoder, err := typed.NewDecoder(r.Declaration, nil)
		if err != nil {
			log.Fatal(err)
		}
		record, err := decoder.Decode(r.Payload)
		if err != nil {
			log.Fatal(err)
		}
		for _, name := range []string{"route", "status", "latency_ns", "attributes"} {
			v, _ := record.Lookup(name)
			fmt.Println(name, v)
		}
	}
	// Output:
	// route /users/{id}
	// status 200
	// latency_ns 1500000
	// attributes {"cached":true}
}

// A guard for arguments that cost something to make.
func ExampleHandler_Traced() {
	events, err := sloghandler.New("myapp", nil)
	if err != nil {
		log.Print(err)
	}
	defer events.Close()
	logger := slog.New(events)
	if events.Traced(slog.LevelDebug) {
		logger.Debug("environment", "variables", os.Environ())
	}
}
