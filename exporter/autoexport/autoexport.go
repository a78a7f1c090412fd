package autoexport

import (
	"context"

	contrib "go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
)

func init() {
	contrib.RegisterSpanExporter(exporterName, func(context.Context) (sdktrace.SpanExporter, error) {
		return usable(ueventstrace.NewExporter(EventName())), nil
	})
	contrib.RegisterLogExporter(exporterName, func(context.Context) (sdklog.Exporter, error) {
		return usable(ueventslog.NewExporter(EventName())), nil
	})
	contrib.RegisterMetricReader(exporterName, func(context.Context) (sdkmetric.Reader, error) {
		return sdkmetric.NewPeriodicReader(usable(ueventsmetric.NewExporter(EventName()))), nil
	})
}

// usable returns an exporter that works whatever the error says. Programs commonly end when
// an exporter cannot be made; missing kernel support is no reason to.
func usable[E any](exporter E, err error) E {
	if err != nil {
		otel.Handle(err)
	}
	return exporter
}
