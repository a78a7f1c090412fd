package autoexport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"go.opentelemetry.io/contrib/propagators/autoprop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// propagatorFromEnv returns the propagators of OTEL_PROPAGATORS, or OpenTelemetry's default.
func propagatorFromEnv() (propagation.TextMapPropagator, error) {
	const variable = "OTEL_PROPAGATORS"
	names := list(os.Getenv(variable))
	if slices.Contains(names, "none") {
		names = []string{"none"} // as in OpenTelemetry's autoprop
	}
	var all []propagation.TextMapPropagator
	var errs []error
	for _, name := range names {
		p, err := autoprop.TextMapPropagator(name)
		if err != nil {
			errs = append(errs, fmt.Errorf("autoexport: %s=%q: %w", variable, os.Getenv(variable), err))
			continue
		}
		if name == "b3" || name == "b3multi" {
			p = withIDs{p}
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		all = []propagation.TextMapPropagator{propagation.TraceContext{}, propagation.Baggage{}}
		if len(errs) > 0 {
			errs = append(errs, errors.New("autoexport: tracecontext and baggage are used instead"))
		}
	}
	return propagation.NewCompositeTextMapPropagator(all...), errors.Join(errs...)
}

// withIDs is a propagator that sends a span context only. Without one, that of B3 asks the services behind not to sample.
type withIDs struct{ propagation.TextMapPropagator }

func (p withIDs) Inject(ctx context.Context, carrier propagation.TextMapCarrier) {
	if trace.SpanContextFromContext(ctx).IsValid() {
		p.TextMapPropagator.Inject(ctx, carrier)
	}
}
