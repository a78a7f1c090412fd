package autoexport

import (
	"context"
	"errors"
	"fmt"

	contrib "go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
	"github.com/userevents/userevents-go/uevents"
)

type providers struct {
	config
	opened    bool
	failed    []error
	shutdowns []func(context.Context) error // called in reverse order
}

// keep keeps an error for [Setup], unless it repeats that of the provider of events.
func (p *providers) keep(err error) {
	if err != nil && (p.events == nil || p.events.Err() == nil || !errors.Is(err, p.events.Err())) {
		p.failed = append(p.failed, err)
	}
}

// open returns the provider of the events of all signals, and keeps its error once.
func (p *providers) open() *uevents.Provider {
	if p.opened {
		return p.events
	}
	if p.opened = true; p.events == nil {
		p.events, _ = uevents.Open(nil)
		p.shutdowns = append(p.shutdowns, func(context.Context) error { return p.events.Close() })
	}
	if err := p.events.Err(); err != nil {
		p.failed = append(p.failed, fmt.Errorf("autoexport: %w", err))
	}
	return p.events
}

// tracers returns a provider that writes events itself where they are all that is wanted, and else the SDK's. Its sampler
// decides what the exporters get, whether or not a tool is attached.
func (p *providers) tracers(ctx context.Context) trace.TracerProvider {
	s := exporters(ctx, p, "OTEL_TRACES_EXPORTER", contrib.NewSpanExporter, newSpanExporter)
	if s.alone {
		opts := append(p.traces, ueventstrace.WithResource(p.resource), ueventstrace.WithProvider(p.open()))
		own, err := ueventstrace.NewTracerProvider(p.eventName, opts...)
		p.keep(err)
		p.shutdowns = append(p.shutdowns, own.Shutdown)
		return own
	}
	opts := []sdktrace.TracerProviderOption{sdktrace.WithResource(p.resource)}
	add := func(processor sdktrace.SpanProcessor) { // which the SDK does not shut down once the context is done
		opts = append(opts, sdktrace.WithSpanProcessor(processor))
		p.shutdowns = append(p.shutdowns, processor.Shutdown)
	}
	if s.events {
		processor, err := ueventstrace.NewProcessor(p.eventName, append(p.traces, ueventstrace.WithProvider(p.open()))...)
		p.keep(err)
		add(processor)
		opts = append(opts, sdktrace.WithSampler(ueventstrace.NewSampler(nil, processor)))
	}
	if len(s.others) > 0 {
		batch := p.spanBatchOptions()
		for _, e := range s.others {
			add(sdktrace.NewBatchSpanProcessor(e, batch...))
		}
	}
	sdk := sdktrace.NewTracerProvider(opts...)
	p.shutdowns = append(p.shutdowns, sdk.Shutdown)
	return sdk
}

// loggers is tracers for log records.
func (p *providers) loggers(ctx context.Context) log.LoggerProvider {
	s := exporters(ctx, p, "OTEL_LOGS_EXPORTER", contrib.NewLogExporter, newLogExporter)
	if s.alone {
		opts := append(p.logs, ueventslog.WithResource(p.resource), ueventslog.WithProvider(p.open()))
		own, err := ueventslog.NewLoggerProvider(p.eventName, opts...)
		p.keep(err)
		p.shutdowns = append(p.shutdowns, own.Shutdown)
		return own
	}
	opts := []sdklog.LoggerProviderOption{sdklog.WithResource(p.resource)}
	add := func(processor sdklog.Processor) {
		opts = append(opts, sdklog.WithProcessor(processor))
		p.shutdowns = append(p.shutdowns, processor.Shutdown)
	}
	if s.events {
		processor, err := ueventslog.NewProcessor(p.eventName, append(p.logs, ueventslog.WithProvider(p.open()))...)
		p.keep(err)
		add(processor)
	}
	if len(s.others) > 0 {
		batch := p.logBatchOptions()
		for _, e := range s.others {
			add(sdklog.NewBatchProcessor(e, batch...))
		}
	}
	sdk := sdklog.NewLoggerProvider(opts...)
	p.shutdowns = append(p.shutdowns, sdk.Shutdown)
	return sdk
}

// meters returns the SDK's provider with a reader for each exporter.
func (p *providers) meters(ctx context.Context) metric.MeterProvider {
	s := exporters(ctx, p, "OTEL_METRICS_EXPORTER", contrib.NewMetricReader, newMetricReader)
	opts := []sdkmetric.Option{sdkmetric.WithResource(p.resource)}
	if s.events {
		exporter, err := ueventsmetric.NewExporter(p.eventName, append(p.metrics, ueventsmetric.WithProvider(p.open()))...)
		p.keep(err)
		s.others = append(s.others, sdkmetric.NewPeriodicReader(exporter))
	}
	for _, reader := range s.others {
		opts = append(opts, sdkmetric.WithReader(reader))
	}
	sdk := sdkmetric.NewMeterProvider(opts...)
	p.shutdowns = append(p.shutdowns, sdk.Shutdown)
	return sdk
}
