package component

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/userevents/userevents-go/internal/eventset"
)

// Encoding is how records are written.
type Encoding uint8

// The encodings.
const (
	Typed Encoding = iota
	CommonSchema4
	encodings
)

// Config is what options of all exporters set. The configuration of each package embeds it.
type Config struct {
	eventset.Options

	Encoding Encoding
	Resource []attribute.Key // the attributes of the resource to write with each record
}

// Apply applies options to a configuration and returns it. Options that are nil are ignored.
func Apply[C any, O ~func(*C)](c C, options []O) C {
	for _, option := range options {
		if option != nil {
			option(&c)
		}
	}
	return c
}
