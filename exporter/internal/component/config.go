package component

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/internal/eventset"
)

// Config holds the options that exporters share. The configuration of each package embeds it.
type Config struct {
	eventset.Options

	CommonSchema4 bool
	Resource      []attribute.Key // keys of the resource attributes to write with each record
}

// Apply applies options to a configuration and returns it. It ignores nil options.
func Apply[C, O any](c C, options []O, apply func(O, *C)) C {
	for _, option := range options {
		if any(option) != nil {
			apply(option, &c)
		}
	}
	return c
}
