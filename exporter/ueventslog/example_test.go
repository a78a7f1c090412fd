package ueventslog_test

import (
	"context"
	"fmt"
	stdlog "log"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// A pipeline of its own for tracing tools, behind a gate.
func ExampleNew() {
	ctx := context.Background()
	processor, err := ueventslog.NewProcessor("myapp")
	if err != nil {
		stdlog.Print(err) // what is missing; the processor works, and is never enabled
	}
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(processor))
	defer provider.Shutdown(ctx)
	logger := ueventslog.NewLoggerProvider(provider, processor).Logger("my/package")

	fmt.Println(logger.Enabled(ctx, log.EnabledParameters{Severity: log.SeverityInfo}))
	// Output: false
}

// Beside a pipeline that a program has, without a gate: the other processor needs all records.
func ExampleProcessor() {
	ctx := context.Background()
	kernel := ueventstest.NewKernel(nil) // the simulated kernel
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	processor, err := ueventslog.NewProcessor("myapp", ueventslog.WithEventProvider(p))
	if err != nil {
		stdlog.Fatal(err)
	}
	provider := sdklog.NewLoggerProvider(
		sdklog.WithProcessor(processor),
		// sdklog.WithProcessor(sdklog.NewBatchProcessor(otlp)),
	)
	defer provider.Shutdown(ctx)
	tracer, err := kernel.Attach(ueventstest.Perf, "myapp_*")
	if err != nil {
		stdlog.Fatal(err)
	}

	var r log.Record
	r.SetSeverity(log.SeverityWarn)
	r.SetBody(attribute.StringValue("disk almost full"))
	r.AddAttributes(attribute.Float64("free", 0.03), attribute.StringSlice("disks", []string{"sda", "sdb"}))
	provider.Logger("my/package").Emit(ctx, r)

	printRecords(tracer, "severity_number", "scope_name", "attributes", "body")
	// Output: myapp_log_warn: severity_number=13 scope_name=my/package attributes={"free":0.03,"disks":["sda","sdb"]} body=disk almost full
}

// A declared record, by which the kernel can filter and aggregate.
func ExampleWithRecords() {
	ctx := context.Background()
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	processor, err := ueventslog.NewProcessor("myapp", ueventslog.WithEventProvider(p), ueventslog.WithRecords(
		ueventslog.Record{EventName: "http.request", Fields: []ueventslog.Field{
			{Key: "http.request.method", Name: "method"},
			{Key: "http.response.status_code", Name: "status", Type: ueventslog.Uint16},
		}},
	))
	if err != nil {
		stdlog.Fatal(err)
	}
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(processor))
	defer provider.Shutdown(ctx)
	tracer, err := kernel.Attach(ueventstest.Ftrace, "myapp_log_http_request")
	if err != nil {
		stdlog.Fatal(err)
	}

	var r log.Record
	r.SetEventName("http.request")
	r.SetSeverity(log.SeverityInfo)
	r.AddAttributes(attribute.String("http.request.method", "GET"), attribute.Int("http.response.status_code", 404), attribute.Bool("cached", false))
	provider.Logger("my/package").Emit(ctx, r)

	printRecords(tracer, "method", "status", "attributes")
	// Output: myapp_log_http_request: method=GET status=404 attributes={"cached":false}
}

// An exporter, for a pipeline that wants one.
func ExampleNewExporter() {
	ctx := context.Background()
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	exporter, err := ueventslog.NewExporter("myapp", ueventslog.WithEventProvider(p))
	if err != nil {
		stdlog.Fatal(err)
	}
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)))
	tracer, err := kernel.Attach(ueventstest.Perf, "myapp_*")
	if err != nil {
		stdlog.Fatal(err)
	}

	var r log.Record
	r.SetSeverity(log.SeverityError)
	r.SetBody(attribute.StringValue("it broke"))
	provider.Logger("my/package").Emit(ctx, r)
	if err := provider.Shutdown(ctx); err != nil {
		stdlog.Fatal(err)
	}

	printRecords(tracer, "body")
	// Output: myapp_log_error: body=it broke
}

// When disabled, the loggers of a gate do not call those behind it.
func ExampleNewLoggerProvider() {
	ctx := context.Background()
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	processor, err := ueventslog.NewProcessor("myapp", ueventslog.WithEventProvider(p))
	if err != nil {
		stdlog.Fatal(err)
	}
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(processor))
	defer provider.Shutdown(ctx)
	logger := ueventslog.NewLoggerProvider(provider, processor).Logger("my/package")

	fmt.Println(logger.Enabled(ctx, log.EnabledParameters{Severity: log.SeverityInfo}))
	if _, err := kernel.Attach(ueventstest.Perf, "myapp_log_info"); err != nil {
		stdlog.Fatal(err)
	}
	fmt.Println(logger.Enabled(ctx, log.EnabledParameters{Severity: log.SeverityInfo}))
	fmt.Println(logger.Enabled(ctx, log.EnabledParameters{Severity: log.SeverityDebug}))
	// Output:
	// false
	// true
	// false
}

// printRecords prints some fields of the records of a tool.
func printRecords(tracer *ueventstest.Tool, names ...string) {
	for _, r := range tracer.Records() {
		decoder, err := typed.NewDecoder(r.Declaration, nil)
		if err != nil {
			stdlog.Fatal(err)
		}
		record, err := decoder.Decode(r.Payload)
		if err != nil {
			stdlog.Fatal(err)
		}
		fmt.Print(r.Event, ":")
		for _, name := range names {
			v, _ := record.Lookup(name)
			fmt.Printf(" %s=%s", name, v.AppendTo(nil))
		}
		fmt.Println()
	}
}
