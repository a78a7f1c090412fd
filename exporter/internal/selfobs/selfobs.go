// Package selfobs publishes self-observability metrics of processors and exporters, as OpenTelemetry's semantic
// conventions define them (otel.sdk.*).
package selfobs

import (
	"context"
	"os"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/semconv/v1.43.0/otelconv"

	"github.com/userevents/userevents-go/uevents"
)

// env is the environment variable that enables these metrics and those of the SDK.
const env = "OTEL_GO_X_OBSERVABILITY"

const scope = "github.com/userevents/userevents-go/exporter"

// Values of the attribute error.type. The conventions define some of them, such as rejected for records that the
// receiver refused.
const (
	errorDisabled = "event_disabled" // before the record was written
	errorRejected = "rejected"       // by the kernel, or it could not be encoded
)

// Component publishes the metric of one kind of component.
type Component struct {
	kind string // the value of otel.component.type
	make func(metric.Meter) (metric.Int64ObservableCounter, error)
}

// The kinds of components. Each has the metric that the conventions define for it.
var (
	SpanProcessor  = Component{"userevents_span_processor", counter(otelconv.NewSDKProcessorSpanProcessedObservable)}
	SpanExporter   = Component{"userevents_span_exporter", counter(otelconv.NewSDKExporterSpanExportedObservable)}
	LogProcessor   = Component{"userevents_log_processor", counter(otelconv.NewSDKProcessorLogProcessedObservable)}
	LogExporter    = Component{"userevents_log_exporter", counter(otelconv.NewSDKExporterLogExportedObservable)}
	MetricExporter = Component{"userevents_metric_exporter", counter(otelconv.NewSDKExporterMetricDataPointExportedObservable)}
)

// counter returns a function that makes an instrument of the conventions.
func counter[I interface {
	Inst() metric.Int64ObservableCounter
}](
	create func(metric.Meter, ...metric.Int64ObservableCounterOption) (I, error),
) func(metric.Meter) (metric.Int64ObservableCounter, error) {
	return func(m metric.Meter) (metric.Int64ObservableCounter, error) {
		i, err := create(m)
		return i.Inst(), err
	}
}

// Publish publishes the counts of read for a named component through the global meter provider, if the environment
// enables it. read is called when metrics are collected. stop ends the publication.
func (c Component) Publish(name string, read func() uevents.EventStats) (stop func() error, err error) {
	stop = func() error { return nil }
	if !strings.EqualFold(os.Getenv(env), "true") {
		return stop, nil
	}
	meter := otel.GetMeterProvider().Meter(scope)
	counter, err := c.make(meter)
	if err != nil {
		return stop, err
	}
	component := []attribute.KeyValue{
		attribute.String("otel.component.name", c.kind+"/"+name),
		attribute.String("otel.component.type", c.kind),
	}
	with := func(errorType string) metric.ObserveOption {
		list := component
		if errorType != "" {
			list = append(component[:2:2], attribute.String("error.type", errorType))
		}
		return metric.WithAttributeSet(attribute.NewSet(list...))
	}
	written, disabled, refused := with(""), with(errorDisabled), with(errorRejected)
	registration, err := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		n := read()
		o.ObserveInt64(counter, int64(n.Written), written)
		o.ObserveInt64(counter, int64(n.Disabled), disabled)
		o.ObserveInt64(counter, int64(n.Refused), refused)
		return nil
	}, counter)
	if err != nil {
		return stop, err
	}
	return registration.Unregister, nil
}
