package ueventslog

import (
	"fmt"
	"os"
	"strconv"

	"go.opentelemetry.io/otel"
)

// The environment variables that limit log records, as the SDK reads them.
const (
	envAttributeCount  = "OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT"
	envAttributeLength = "OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT"
)

// limits are those of a log record. A negative one is none.
type limits struct {
	count  int // of its attributes
	length int // of an attribute's texts in characters, and lists of bytes
}

// limitsFromEnvironment returns the limits that the environment sets, or the SDK's defaults.
func limitsFromEnvironment() limits {
	return limits{count: environmentLimit(envAttributeCount, 128), length: environmentLimit(envAttributeLength, -1)}
}

// environmentLimit returns the limit that a variable sets. As in the SDK, the error handler gets what is no number.
func environmentLimit(variable string, otherwise int) int {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		otel.Handle(fmt.Errorf("ueventslog: %s: the limit is %d: set an integer, or -1 for no limit: %w", variable, otherwise, err))
		return otherwise
	}
	return n
}
