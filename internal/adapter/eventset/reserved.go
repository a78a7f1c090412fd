package eventset

import (
	"fmt"
	"strings"

	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/tracepoint"
)

// The adapters of one program may have the same name, so no two of them may register one event with different fields. The events of
// the adapters for OpenTelemetry have fixed suffixes, or a prefix before the suffix; those of EventHeader end in a level and a
// keyword. Declarations of sloghandler must not take any of these.
var (
	// ReservedNames has the package of each fixed suffix.
	ReservedNames = map[string]string{
		"span":       "ueventstrace",
		"span_start": "ueventstrace",
		"span_event": "ueventstrace",
		"span_link":  "ueventstrace",
		"slice":      "ueventstrace",

		"metric_gauge":                    "ueventsmetric",
		"metric_sum":                      "ueventsmetric",
		"metric_histogram":                "ueventsmetric",
		"metric_exp_histogram":            "ueventsmetric",
		"metric_cumulative_sum":           "ueventsmetric",
		"metric_cumulative_histogram":     "ueventsmetric",
		"metric_cumulative_exp_histogram": "ueventsmetric",
		"metric_updown_sum":               "ueventsmetric",
		"metric_summary":                  "ueventsmetric",
		"metric_exemplar":                 "ueventsmetric",
	}

	// reservedPrefixes has the package of each prefix before suffixes that programs choose.
	reservedPrefixes = map[string]string{"log_": "ueventslog"}
)

// reservedFor returns the package that registers events with this suffix, or an empty text.
func reservedFor(suffix string) string {
	// Any adapter can register EventHeader events, whose suffixes are levels and keywords.
	if n, err := eventheader.ParseName("_" + suffix); err == nil && n.Provider == "" && n.String() == "_"+suffix {
		return "eventheader"
	}
	for prefix, pkg := range reservedPrefixes {
		if strings.HasPrefix(suffix, prefix) {
			return pkg
		}
	}
	return ReservedNames[suffix]
}

// CheckSuffix returns an error that wraps [tracepoint.ErrInvalid] if another adapter registers events with this suffix.
func CheckSuffix(suffix string) error {
	if pkg := reservedFor(suffix); pkg != "" {
		return fmt.Errorf("%w: package %s has events whose names end in _%s: give the declaration another name", tracepoint.ErrInvalid, pkg, suffix)
	}
	return nil
}
