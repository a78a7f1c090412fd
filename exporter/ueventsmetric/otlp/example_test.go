package otlp_test

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/exporter/ueventsmetric/otlp"
	"github.com/userevents/userevents-go/uevents/ueventstest"
)

// A collector decodes an event.
func ExampleNewExporter() {
	kernel := ueventstest.NewKernel(nil)
	defer kernel.Close()
	p := kernel.Provider()
	defer p.Close()
	exporter, err := otlp.NewExporter(otlp.WithEventProvider(p)) // without the option: on this machine's kernel
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

	events, points := 0, 0
	for _, r := range tool.Records() {
		decoder, err := typed.NewDecoder(r.Declaration, nil)
		if err != nil {
			log.Fatal(err)
		}
		record, err := decoder.Decode(r.Payload)
		if err != nil {
			log.Fatal(err)
		}
		buffer, _ := record.Lookup("buffer")
		var request collectorpb.ExportMetricsServiceRequest
		if err := proto.Unmarshal(buffer.Bytes(), &request); err != nil {
			log.Fatal(err)
		}
		events++
		for _, m := range request.ResourceMetrics[0].ScopeMetrics[0].Metrics {
			points += len(m.GetSum().DataPoints)
		}
	}
	fmt.Println(points, "points in", events, "events")
	// Output: 100 points in 2 events
}
