package autoexport

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

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
