package ueventstrace_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// Beside an exporter: a tracing tool gets every span, the exporter gets the same spans as before.
func ExampleNewSampler() {
	processor, err := ueventstrace.NewProcessor("myapp")
	if err != nil {
		log.Print(err) // why there are no events; the processor works, and is never enabled
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(processor),
		sdktrace.WithSampler(ueventstrace.NewSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01)), processor)),
		// and sdktrace.WithBatcher(exporter)
	)
	defer func() { _ = provider.Shutdown(context.Background()) }()
	otel.SetTracerProvider(provider)
}

// Without the SDK: spans are recorded while a tracing tool is attached, and propagate what their callers sent.
func ExampleNewTracerProvider() {
	provider, err := ueventstrace.NewTracerProvider("myapp")
	if err != nil {
		log.Print(err) // why there are no events; the provider works, and its spans are never recorded
	}
	defer func() { _ = provider.Shutdown(context.Background()) }() // unregisters the events
	otel.SetTracerProvider(provider)
}

// A test that reads the events, on a simulated kernel.
func Example() {
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	provider, err := ueventstrace.NewTracerProvider("myapp", ueventstrace.WithProvider(p))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = provider.Shutdown(context.Background()) }()
	tracer, err := kernel.Attach(ueventstest.Perf, "myapp_span")
	if err != nil {
		log.Fatal(err)
	}

	_, span := provider.Tracer("my/package").Start(context.Background(), "charge")
	span.SetAttributes(attribute.Int("amount", 7))
	span.End()

	for _, r := range tracer.Records() {
		decoder, err := typed.NewDecoder(r.Declaration, nil)
		if err != nil {
			log.Fatal(err)
		}
		record, err := decoder.Decode(r.Payload)
		if err != nil {
			log.Fatal(err)
		}
		for _, name := range []string{"name", "scope_name", "status_code", "attributes"} {
			v, _ := record.Lookup(name)
			fmt.Println(name, v)
		}
	}
	// Output:
	// name charge
	// scope_name my/package
	// status_code 0
	// attributes {"amount":7}
}
