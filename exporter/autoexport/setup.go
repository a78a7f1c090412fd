package autoexport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	contrib "go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/userevents/userevents-go/exporter/ueventslog"
	"github.com/userevents/userevents-go/exporter/ueventsmetric"
	"github.com/userevents/userevents-go/exporter/ueventstrace"
)

// Setup sets OpenTelemetry's global providers for spans, log records and metrics, and the global propagator, as the
// environment says. The package comment lists the variables. Call it once, when the program begins:
//
//	shutdown, err := autoexport.Setup(ctx)
//	if err != nil {
//		log.Print(err) // the rest works
//	}
//	defer func() { _ = shutdown(context.Background()) }()
//
// With an error everything else is set up, so it is no reason to end the program. The error names each variable whose
// value cannot be used, and says why user events are not supported or not permitted; they are then never enabled: errors.Is finds
// uevents.ErrNotSupported or fs.ErrPermission. Wrong values of variables that the SDK and the exporters read are
// reported to OpenTelemetry's error handler.
//
// The context is that of the exporters' constructors.
//
// The function that Setup returns is never nil. It exports what has been recorded, in the order spans, log records, metrics,
// shuts the providers down, ends the publication of the resource, and joins their errors. If its context is done, it does not
// wait: everything is shut down, and what was not exported may be lost. It may be called concurrently. A second call shuts
// nothing down: it returns the error of the first call, which it waits for, or that of its own context if this is done earlier.
func Setup(ctx context.Context, opts ...Option) (shutdown func(context.Context) error, err error) {
	if ctx == nil {
		ctx = context.Background()
	}
	propagator, propagatorErr := propagatorFromEnv()
	otel.SetTextMapPropagator(propagator)
	envErr := errors.Join(checkConfigFile(), propagatorErr)
	if strings.EqualFold(strings.TrimSpace(os.Getenv("OTEL_SDK_DISABLED")), "true") {
		return func(context.Context) error { return nil }, envErr
	}
	c, resourceErr := newConfig(opts)
	p := providers{config: c, failed: []error{envErr, resourceErr}}
	defer func() {
		if shutdown == nil { // a constructor of an exporter has panicked
			_ = shutdownOnce(p.shutdowns)(ctx)
		}
	}()
	p.publish() // before there are events: a tool that finds these finds the service
	// Spans and log records may be measured, so metrics begin first and end last.
	otel.SetMeterProvider(p.meters(ctx))
	otel.SetLoggerProvider(p.loggers(ctx))
	otel.SetTracerProvider(p.tracers(ctx))
	return shutdownOnce(p.shutdowns), errors.Join(p.failed...)
}

// checkConfigFile returns an error if the environment names a file of declarative configuration.
func checkConfigFile() error {
	for _, variable := range []string{"OTEL_CONFIG_FILE", "OTEL_EXPERIMENTAL_CONFIG_FILE"} {
		if file := os.Getenv(variable); file != "" {
			return fmt.Errorf("autoexport: %s=%q: Setup does not read configuration files: the other variables apply", variable, file)
		}
	}
	return nil
}

// shutdownOnce returns a function that calls others once, the last one first. Further calls wait for the error as long as their own
// context says, whatever that of the first call says: an exporter may hang.
func shutdownOnce(all []func(context.Context) error) func(context.Context) error {
	var begun atomic.Bool
	var err error
	ended := make(chan struct{})
	return func(ctx context.Context) error {
		if ctx == nil {
			ctx = context.Background()
		}
		if begun.CompareAndSwap(false, true) {
			defer close(ended)
			for _, shutdown := range slices.Backward(all) {
				err = errors.Join(err, shutdown(ctx))
			}
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
