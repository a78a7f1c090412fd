package ueventslog

import (
	"fmt"
	"os"
	"strconv"

	"go.opentelemetry.io/otel"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

// The environment variables that limit log records, as the SDK reads them.
const (
	envAttributeCount  = "OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT"
	envAttributeLength = "OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT"
)

// limitsFromEnvironment returns the limits that the environment sets, or the SDK's defaults.
func limitsFromEnvironment() attrs.Limits {
	return attrs.Limits{
		Count: environmentLimit(envAttributeCount, 128), Length: environmentLimit(envAttributeLength, -1), Depth: attrs.DepthLimit,
	}
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
