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

// Log records of a bridge or of OpenTelemetry's API, for tracing tools only.
func ExampleNewLoggerProvider() {
	ctx := context.Background()
	kernel := ueventstest.NewKernel(nil) // the simulated kernel
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	provider, err := ueventslog.NewLoggerProvider("myapp", ueventslog.WithProvider(p))
	if err != nil {
		stdlog.Print(err) // what is missing; the provider works, and is never enabled
	}
	defer func() { _ = provider.Shutdown(ctx) }()
	logger := provider.Logger("my/package")

	fmt.Println(logger.Enabled(ctx, log.EnabledParameters{Severity: log.SeverityInfo}))
	tool, err := kernel.Attach(ueventstest.Perf, "myapp_log_info")
	if err != nil {
		stdlog.Fatal(err)
	}
	fmt.Println(logger.Enabled(ctx, log.EnabledParameters{Severity: log.SeverityInfo}))
	fmt.Println(logger.Enabled(ctx, log.EnabledParameters{Severity: log.SeverityDebug}))

	var r log.Record
	r.SetSeverity(log.SeverityInfo)
	r.SetBody(attribute.StringValue("request served"))
	r.AddAttributes(attribute.Int("http.response.status_code", 200))
	logger.Emit(ctx, r)

	printRecords(tool, "severity_number", "body", "attributes")
	// Output:
	// false
	// true
	// false
	// myapp_log_info: severity_number=9 body=request served attributes={"http.response.status_code":200}
}

// Beside another processor of the SDK, which gets all records.
func ExampleNewProcessor() {
	ctx := context.Background()
	kernel := ueventstest.NewKernel(nil) // the simulated kernel
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	processor, err := ueventslog.NewProcessor("myapp", ueventslog.WithProvider(p))
	if err != nil {
		stdlog.Fatal(err)
	}
	provider := sdklog.NewLoggerProvider(
		sdklog.WithProcessor(processor),
		// sdklog.WithProcessor(sdklog.NewBatchProcessor(otlp)),
	)
	defer func() { _ = provider.Shutdown(ctx) }()
	tool, err := kernel.Attach(ueventstest.Perf, "myapp_*")
	if err != nil {
		stdlog.Fatal(err)
	}

	var r log.Record
	r.SetSeverity(log.SeverityWarn)
	r.SetBody(attribute.StringValue("disk almost full"))
	r.AddAttributes(attribute.Float64("free", 0.03), attribute.StringSlice("disks", []string{"sda", "sdb"}))
	provider.Logger("my/package").Emit(ctx, r)

	printRecords(tool, "severity_number", "scope_name", "attributes", "body")
	// Output: myapp_log_warn: severity_number=13 scope_name=my/package attributes={"free":0.03,"disks":["sda","sdb"]} body=disk almost full
}

// A declared record, by whose fields the kernel can filter and aggregate.
func ExampleDeclare() {
	type HTTPRequest struct {
		Method string `uevent:"http.request.method"`
		Status uint16 `uevent:"http.response.status_code"`
	}
	httpRequest := ueventslog.Declare[HTTPRequest]("http.request", nil)

	ctx := context.Background()
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	provider, err := ueventslog.NewLoggerProvider("myapp", ueventslog.WithProvider(p), ueventslog.WithDeclarations(httpRequest))
	if err != nil {
		stdlog.Fatal(err)
	}
	defer func() { _ = provider.Shutdown(ctx) }()
	tool, err := kernel.Attach(ueventstest.Ftrace, "myapp_log_http_request")
	if err != nil {
		stdlog.Fatal(err)
	}

	var r log.Record
	r.SetEventName("http.request")
	r.SetSeverity(log.SeverityInfo)
	r.AddAttributes(attribute.String("http.request.method", "GET"), attribute.Int("http.response.status_code", 404), attribute.Bool("cached", false))
	provider.Logger("my/package").Emit(ctx, r)

	printRecords(tool, "http_request_method", "http_response_status_code", "attributes")
	// Output: myapp_log_http_request: http_request_method=GET http_response_status_code=404 attributes={"cached":false}
}

// An exporter, for a pipeline that wants one.
func ExampleNewExporter() {
	ctx := context.Background()
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	exporter, err := ueventslog.NewExporter("myapp", ueventslog.WithProvider(p))
	if err != nil {
		stdlog.Fatal(err)
	}
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)))
	tool, err := kernel.Attach(ueventstest.Perf, "myapp_*")
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

	printRecords(tool, "body")
	// Output: myapp_log_error: body=it broke
}

// printRecords prints some fields of the records of a tool.
func printRecords(tool *ueventstest.Tool, names ...string) {
	for _, r := range tool.Records() {
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
