package ueventstrace_test

import (
	"errors"
	"fmt"
	"log"
	"log/slog"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/sloghandler"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// The logs of OpenTelemetry's SDK itself as events: disabled until an operator attaches a tool to a program whose telemetry
// is missing. The SDK's errors are the event myapp_otel_error. Its other messages are myapp_otel_debug: warnings with level -1,
// information with -4, debug messages with -8.
func Example_logsOfTheSDK() {
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider() // a program opens no provider: that of the machine is the default
	defer p.Close()

	events, err := sloghandler.New("myapp_otel", &sloghandler.Options{Provider: p})
	if err != nil {
		log.Print(err)
	}
	defer events.Close()
	otel.SetLogger(logr.FromSlogHandler(events))
	defer otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { slog.New(events).Error(err.Error()) }))

	tool, err := kernel.Attach(ueventstest.Perf, "myapp_otel_*")
	if err != nil {
		log.Fatal(err)
	}
	sdktrace.NewTracerProvider() // which the SDK logs
	otel.Handle(errors.New("traces export: connection refused"))

	for _, r := range tool.Records() {
		decoder, err := typed.NewDecoder(r.Declaration, nil)
		if err != nil {
			log.Fatal(err)
		}
		record, err := decoder.Decode(r.Payload)
		if err != nil {
			log.Fatal(err)
		}
		level, _ := record.Lookup("level")
		message, _ := record.Lookup("message")
		fmt.Println(r.Event, level, message)
	}
	// Output:
	// myapp_otel_debug -4 TracerProvider created
	// myapp_otel_error 8 traces export: connection refused
}
