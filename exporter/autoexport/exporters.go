package autoexport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// exporterName is the value of the environment variables.
const exporterName = "user_events"

// list returns the names in a variable: separated by commas, without the space around them, each once.
func list(variable string) (names []string) {
	for name := range strings.SplitSeq(os.Getenv(variable), ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// exporters returns what a variable names, or else OpenTelemetry's default: whether user_events is among it, and the
// other exporters, which create makes. The error names those that cannot be made.
func exporters[E any](ctx context.Context, variable string, create func(context.Context) (E, error)) (events bool, others []E, err error) {
	names := list(variable)
	if len(names) == 0 {
		names = []string{"otlp"}
	}
	var errs []error
	if n := slices.Index(names, "none"); n >= 0 {
		if names = slices.Delete(names, n, n+1); len(names) > 0 {
			errs = append(errs, fmt.Errorf("autoexport: %s=%q: none does not go with other exporters and is ignored", variable, os.Getenv(variable)))
		}
	}
	for _, name := range names {
		if name == exporterName {
			events = true
			continue
		}
		e, err := createOne(ctx, variable, name, create)
		if err != nil {
			errs = append(errs, fmt.Errorf("autoexport: %s=%q: exporter %q: %w", variable, os.Getenv(variable), name, err))
			continue
		}
		others = append(others, e)
	}
	return events, others, errors.Join(errs...)
}

// createOne lets create make the exporter of this name. OpenTelemetry's autoexport takes the name from the
// variable only, which must not be a list. So the variable has this value meanwhile.
func createOne[E any](ctx context.Context, variable, name string, create func(context.Context) (E, error)) (E, error) {
	if value := os.Getenv(variable); value != "" && value != name {
		if err := os.Setenv(variable, name); err != nil {
			var none E
			return none, err
		}
		defer func() { _ = os.Setenv(variable, value) }() // it has been set before
	}
	return create(ctx)
}
