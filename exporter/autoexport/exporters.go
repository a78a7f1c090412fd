package autoexport

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// exporterName is the value of the environment variables.
const exporterName = "user_events"

// list returns the names in the value of a variable: separated by commas, without the space around them, each once.
func list(value string) (names []string) {
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// selection is the exporters of a signal. The kind of provider follows from the names, not from the exporters that can be
// made: a misspelt name must not change what the program propagates.
type selection[E any] struct {
	events bool // user_events is among them
	alone  bool // and no other name
	others []E
}

// exporters returns what a variable names, or else the default of the program or OpenTelemetry. Function create makes the
// exporters beside user_events. The error names those that cannot be made.
func exporters[E, O any](ctx context.Context, variable, defaults string, create func(context.Context, ...O) (E, error)) (s selection[E], err error) {
	var names []string
	for _, value := range []string{os.Getenv(variable), defaults, "otlp"} {
		if names = list(value); len(names) > 0 {
			break
		}
	}
	listed := strings.Join(names, ",")
	var errs []error
	if n := slices.Index(names, "none"); n >= 0 {
		if names = slices.Delete(names, n, n+1); len(names) > 0 {
			errs = append(errs, fmt.Errorf("autoexport: %s=%q: none does not go with other exporters and is ignored", variable, listed))
		}
	}
	s.events = slices.Contains(names, exporterName)
	s.alone = s.events && len(names) == 1
	for _, name := range names {
		if name == exporterName {
			continue
		}
		e, err := createOne(ctx, variable, name, create)
		if err != nil {
			errs = append(errs, fmt.Errorf("autoexport: %s=%q: exporter %q: %w", variable, listed, name, err))
			continue
		}
		s.others = append(s.others, e)
	}
	return s, errors.Join(errs...)
}

// createOne lets create make the exporter of this name. OpenTelemetry's autoexport takes the name from the
// variable only, which must not be a list. So the variable has this value meanwhile.
func createOne[E, O any](ctx context.Context, variable, name string, create func(context.Context, ...O) (E, error)) (e E, err error) {
	if value, set := os.LookupEnv(variable); value != name {
		if err := os.Setenv(variable, name); err != nil {
			return e, err
		}
		defer func() { // neither fails where Setenv did not
			if _ = os.Setenv(variable, value); !set {
				_ = os.Unsetenv(variable)
			}
		}()
	}
	if e, err = create(ctx); err != nil && strings.HasPrefix(err.Error(), "unknown exporter") {
		err = fmt.Errorf("unknown exporter: use %s, otlp, console, none, or the name of one that the program registers", exporterName)
	}
	return e, err
}

// maxQueueSize bounds the queues of the SDK's batch processors, which allocate them when they are made.
const maxQueueSize = 1 << 20

// spanBatchOptions returns options for the SDK's batch processor of spans in place of variables that it does not check: it
// panics if a size is negative or too large, and is busy all the time if the delay is not positive.
func spanBatchOptions() ([]sdktrace.BatchSpanProcessorOption, error) {
	queue, queueErr := positive("OTEL_BSP_MAX_QUEUE_SIZE", sdktrace.DefaultMaxQueueSize, maxQueueSize)
	batch, batchErr := positive("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", sdktrace.DefaultMaxExportBatchSize, maxQueueSize)
	delay, delayErr := positive("OTEL_BSP_SCHEDULE_DELAY", sdktrace.DefaultScheduleDelay, math.MaxInt64/int64(time.Millisecond))
	if batch > queue {
		batch = min(sdktrace.DefaultMaxExportBatchSize, queue) // as the SDK has it
	}
	return []sdktrace.BatchSpanProcessorOption{
		sdktrace.WithMaxQueueSize(int(queue)),
		sdktrace.WithMaxExportBatchSize(int(batch)),
		sdktrace.WithBatchTimeout(time.Duration(delay) * time.Millisecond),
	}, errors.Join(queueErr, batchErr, delayErr)
}

// logBatchOptions is spanBatchOptions for log records, whose processor checks the other variables itself.
func logBatchOptions() ([]sdklog.BatchProcessorOption, error) {
	const defaultSize = 2048 // of the specification and the SDK, which keeps its constant to itself
	queue, err := positive("OTEL_BLRP_MAX_QUEUE_SIZE", defaultSize, maxQueueSize)
	return []sdklog.BatchProcessorOption{sdklog.WithMaxQueueSize(int(queue))}, err
}

// positive returns the value of a variable, a number from 1 to most, or else the default.
func positive(variable string, defaultValue, most int64) (int64, error) {
	text := strings.TrimSpace(os.Getenv(variable))
	if text == "" {
		return defaultValue, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > most {
		return defaultValue, fmt.Errorf("autoexport: %s=%q is not a number from 1 to %d: the default %d applies", variable, os.Getenv(variable), most, defaultValue)
	}
	return n, nil
}
