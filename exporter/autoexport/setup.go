package autoexport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"go.opentelemetry.io/contrib/propagators/autoprop"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
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
// The context is that of [resource.Default] and of the exporters' constructors.
//
// The function that Setup returns is never nil. It exports what has been recorded, in the order spans, log records, metrics,
// shuts the providers down, and joins their errors. If its context is done, it does not wait: everything is shut down, and
// what was not exported may be lost. It may be called concurrently. A second call
// shuts nothing down: it returns the error of the first call, which it waits for, or that of its own context if this is done earlier.
//
// While Setup makes an exporter out of a list of several, the variable has the name of this exporter only.
// Programs started meanwhile inherit that.
func Setup(ctx context.Context, opts ...Option) (shutdown func(context.Context) error, err error) {
	settingUp.Lock()
	defer settingUp.Unlock()
	if ctx == nil {
		ctx = context.Background()
	}
	var c config
	for _, opt := range opts {
		if opt != nil {
			opt(&c)
		}
	}
	propagator, propagatorErr := propagatorFromEnv()
	otel.SetTextMapPropagator(propagator)
	if strings.EqualFold(strings.TrimSpace(os.Getenv("OTEL_SDK_DISABLED")), "true") {
		return func(context.Context) error { return nil }, propagatorErr
	}
	r, resourceErr := resource.Merge(resource.DefaultWithContext(ctx), c.resource)
	if resourceErr != nil {
		resourceErr = fmt.Errorf("autoexport: %w", resourceErr)
	}
	p := providers{config: c, resource: r, name: eventName(serviceName(r))}
	// Spans and log records may be measured, so metrics begin first and end last.
	meters, closeMeters, metricErr := p.meters(ctx)
	otel.SetMeterProvider(meters)
	loggers, closeLoggers, logErr := p.loggers(ctx)
	otel.SetLoggerProvider(loggers)
	tracers, closeTracers, traceErr := p.tracers(ctx)
	otel.SetTracerProvider(tracers)

	return closeOnce(func(ctx context.Context) error {
		return errors.Join(closeTracers(ctx), closeLoggers(ctx), closeMeters(ctx))
	}), errors.Join(propagatorErr, resourceErr, traceErr, logErr, metricErr, joinSame(p.failed))
}

// settingUp keeps concurrent calls of Setup apart, which change variables for a moment.
var settingUp sync.Mutex

// propagatorFromEnv returns the propagators of OTEL_PROPAGATORS, or OpenTelemetry's default.
func propagatorFromEnv() (propagation.TextMapPropagator, error) {
	const variable = "OTEL_PROPAGATORS"
	names := list(variable)
	if len(names) == 0 {
		names = []string{"tracecontext", "baggage"}
	}
	p, err := autoprop.TextMapPropagator(names...)
	if p == nil {
		p = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	}
	if err != nil {
		err = fmt.Errorf("autoexport: %s=%q: %w", variable, os.Getenv(variable), err)
	}
	return p, err
}
