package autoexport

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	contrib "go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
)

// providers makes the provider of each signal.
type providers struct {
	config
	resource *resource.Resource
	name     string  // with which the names of events begin
	failed   []error // of the constructors for user events
}

// keep keeps the error of a constructor for user events for [Setup].
func (p *providers) keep(err error) {
	if err != nil {
		p.failed = append(p.failed, err)
	}
}

// closer shuts a provider down.
type closer = func(context.Context) error

// closeAll returns a closer for a provider of the SDK and its processors. The SDK does not touch these once the context
// is done. Those that it has shut down do nothing the second time.
func closeAll[P interface{ Shutdown(context.Context) error }](provider closer, processors []P) closer {
	return func(ctx context.Context) error {
		errs := []error{provider(ctx)}
		for _, p := range processors {
			errs = append(errs, p.Shutdown(ctx))
		}
		return errors.Join(errs...)
	}
}

// closeOnce returns a closer that calls another one once. Further calls wait for its error as long as their own context says,
// whatever that of the first call says: an exporter may hang.
func closeOnce(c closer) closer {
	var begun atomic.Bool
	var err error
	ended := make(chan struct{})
	return func(ctx context.Context) error {
		if ctx == nil {
			ctx = context.Background()
		}
		if begun.CompareAndSwap(false, true) {
			defer close(ended)
			err = c(ctx)
			return err
		}
		select {
		case <-ended:
			return err
		default:
		}
		select {
		case <-ended:
			return err
		case <-ctx.Done():
			return fmt.Errorf("autoexport: the shutdown that another call began has not ended: %w", ctx.Err())
		}
	}
}

// tracers returns a provider that writes events itself where they are all that is wanted, and else the SDK's. Its sampler
// decides what the exporters get, whether or not a tool is attached.
func (p *providers) tracers(ctx context.Context) (trace.TracerProvider, closer, error) {
	events, exporters, err := exporters(ctx, "OTEL_TRACES_EXPORTER", func(ctx context.Context) (sdktrace.SpanExporter, error) { return contrib.NewSpanExporter(ctx) })
	if events && len(exporters) == 0 {
		options := []ueventstrace.ProviderOption{ueventstrace.WithResource(p.resource)}
		for _, o := range p.traces {
			options = append(options, o)
		}
		own, ownErr := ueventstrace.NewTracerProvider(p.name, options...)
		p.keep(ownErr)
		return own, own.Shutdown, err
	}
	var processors []sdktrace.SpanProcessor
	opts := []sdktrace.TracerProviderOption{sdktrace.WithResource(p.resource)}
	if events {
		processor, processorErr := ueventstrace.NewProcessor(p.name, p.traces...)
		p.keep(processorErr)
		processors = append(processors, processor)
		opts = append(opts, sdktrace.WithSampler(ueventstrace.NewSampler(samplerFromEnv(), processor)))
	}
	if len(exporters) > 0 {
		batch, batchErr := spanBatchOptions()
		err = errors.Join(err, batchErr)
		for _, e := range exporters {
			processors = append(processors, sdktrace.NewBatchSpanProcessor(e, batch...))
		}
	}
	for _, processor := range processors {
		opts = append(opts, sdktrace.WithSpanProcessor(processor))
	}
	sdk := sdktrace.NewTracerProvider(opts...)
	return sdk, closeAll(sdk.Shutdown, processors), err
}

// loggers is tracers for log records.
func (p *providers) loggers(ctx context.Context) (log.LoggerProvider, closer, error) {
	events, exporters, err := exporters(ctx, "OTEL_LOGS_EXPORTER", func(ctx context.Context) (sdklog.Exporter, error) { return contrib.NewLogExporter(ctx) })
	if events && len(exporters) == 0 {
		options := []ueventslog.ProviderOption{ueventslog.WithResource(p.resource)}
		for _, o := range p.logs {
			options = append(options, o)
		}
		own, ownErr := ueventslog.NewLoggerProvider(p.name, options...)
		p.keep(ownErr)
		return own, own.Shutdown, err
	}
	var processors []sdklog.Processor
	if events {
		processor, processorErr := ueventslog.NewProcessor(p.name, p.logs...)
		p.keep(processorErr)
		processors = append(processors, processor)
	}
	if len(exporters) > 0 {
		batch, batchErr := logBatchOptions()
		err = errors.Join(err, batchErr)
		for _, e := range exporters {
			processors = append(processors, sdklog.NewBatchProcessor(e, batch...))
		}
	}
	opts := []sdklog.LoggerProviderOption{sdklog.WithResource(p.resource)}
	for _, processor := range processors {
		opts = append(opts, sdklog.WithProcessor(processor))
	}
	sdk := sdklog.NewLoggerProvider(opts...)
	return sdk, closeAll(sdk.Shutdown, processors), err
}

// meters returns the SDK's provider with a reader for each exporter.
func (p *providers) meters(ctx context.Context) (metric.MeterProvider, closer, error) {
	events, readers, err := exporters(ctx, "OTEL_METRICS_EXPORTER", func(ctx context.Context) (sdkmetric.Reader, error) { return contrib.NewMetricReader(ctx) })
	opts := []sdkmetric.Option{sdkmetric.WithResource(p.resource)}
	if events {
		exporter, exporterErr := ueventsmetric.NewExporter(p.name, p.metrics...)
		p.keep(exporterErr)
		readers = append(readers, sdkmetric.NewPeriodicReader(exporter))
	}
	for _, reader := range readers {
		opts = append(opts, sdkmetric.WithReader(reader))
	}
	sdk := sdkmetric.NewMeterProvider(opts...)
	return sdk, sdk.Shutdown, err
}
