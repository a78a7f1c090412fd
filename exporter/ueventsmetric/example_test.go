package ueventsmetric_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// A test reads the events from a simulated kernel.
func ExampleNewExporter() {
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	exporter, err := ueventsmetric.NewExporter("myapp", ueventsmetric.WithProvider(p)) // without the option: on this machine's kernel
	if err != nil {
		log.Print(err) // why there are no events; the exporter works, and writes nothing
	}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))

	tool, err := kernel.Attach(ueventstest.Perf, "myapp_metric_*")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	latency, err := provider.Meter("shop").Float64Histogram("latency", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(0.1, 1))
	if err != nil {
		log.Fatal(err)
	}
	latency.Record(ctx, 0.25, metric.WithAttributes(attribute.String("route", "/users")))
	latency.Record(ctx, 3, metric.WithAttributes(attribute.String("route", "/users")))
	if err := provider.Shutdown(ctx); err != nil { // which exports what is left
		log.Fatal(err)
	}

	for _, r := range tool.Records() {
		decoder, err := typed.NewDecoder(r.Declaration, nil)
		if err != nil {
			log.Fatal(err)
		}
		record, err := decoder.Decode(r.Payload)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(record.Event())
		for _, field := range []string{"name", "unit", "temporality", "count", "sum", "max_micro", "explicit_bounds", "bucket_counts", "attributes"} {
			v, _ := record.Lookup(field)
			fmt.Printf("  %s=%s\n", field, v)
		}
	}
	// Output:
	// myapp_metric_histogram
	//   name=latency
	//   unit=s
	//   temporality=delta
	//   count=2
	//   sum=3.25
	//   max_micro=3000000
	//   explicit_bounds=0.1,1
	//   bucket_counts=0,1,1
	//   attributes={"route":"/users"}
}
