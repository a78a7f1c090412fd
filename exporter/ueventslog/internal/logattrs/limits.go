package logattrs

import (
	"fmt"
	"os"
	"strconv"

	"go.opentelemetry.io/otel"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
)

// LimitsFromEnvironment returns the limits that the environment sets for log records, or the SDK's defaults.
func LimitsFromEnvironment() attrs.Limits {
	return attrs.Limits{
		Count:  limit("OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", 128),
		Length: limit("OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT", -1),
		Depth:  attrs.DepthLimit,
	}
}

// limit returns the limit that a variable sets. As in the SDK, the error handler gets what is no number.
func limit(variable string, otherwise int) int {
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
