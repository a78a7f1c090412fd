package autoexport_test

import (
	"context"
	"log"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/exporter/autoexport"
)

// With OTEL_TRACES_EXPORTER=user_events,otlp, the spans of this program go to a collector, and are the events shop_span while a tool is
// attached.
func ExampleSetup() {
	ctx := context.Background()
	shutdown, err := autoexport.Setup(ctx, autoexport.WithResource(resource.NewSchemaless(attribute.String("service.name", "shop"))))
	if err != nil {
		log.Print(err) // the rest works
	}
	defer func() { _ = shutdown(ctx) }() // exports what is left

	_, span := otel.Tracer("shop").Start(ctx, "sell")
	span.End()
}
