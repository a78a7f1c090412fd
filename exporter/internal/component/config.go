package component

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/internal/eventset"
)

// Encoding is the encoding of records.
type Encoding uint8

// The encodings.
const (
	Typed Encoding = iota
	CommonSchema4
	encodings
)

// Config holds the options that all exporters share. The configuration of each package embeds it.
type Config struct {
	eventset.Options

	Encoding Encoding
	Resource []attribute.Key // keys of the resource attributes to write with each record
}

// Apply applies options to a configuration and returns it. It ignores nil options.
func Apply[C any, O ~func(*C)](c C, options []O) C {
	for _, option := range options {
		if option != nil {
			option(&c)
		}
	}
	return c
}
