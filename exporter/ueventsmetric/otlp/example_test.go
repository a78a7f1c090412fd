package otlp_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventsmetric/otlp"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// Points become as few events as they fit in.
func ExampleNewExporter() {
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	exporter, err := otlp.NewExporter(ueventsmetric.WithProvider(p)) // without the option: on this machine's kernel
	if err != nil {
		log.Print(err) // why there is no event; the exporter works, and writes nothing
	}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))

	tool, err := kernel.Attach(ueventstest.Perf, otlp.EventName)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	requests, err := provider.Meter("shop").Int64Counter("requests")
	if err != nil {
		log.Fatal(err)
	}
	for i := range 100 {
		requests.Add(ctx, 1, metric.WithAttributes(attribute.Int("shard", i)))
	}
	if err := provider.Shutdown(ctx); err != nil { // which exports what is left
		log.Fatal(err)
	}

	fmt.Println(exporter.Stats()[otlp.EventName].Written, "points in", len(tool.Records()), "events")
	// Output: 100 points in 2 events
}
