package component

import (
	"fmt"
	"slices"

	"go.opentelemetry.io/otel/sdk/resource"
)

// ProviderResource returns the resource of a provider of a package. As in the SDK, attributes from the program override
// those from the environment. Without any, it returns the SDK's default.
func ProviderResource(pkg string, set *resource.Resource) (*resource.Resource, error) {
	if set == nil {
		return resource.Default(), nil
	}
	res, err := resource.Merge(resource.Environment(), set)
	if err != nil {
		err = fmt.Errorf("%s: the resource of WithResource and that of the environment: %w", pkg, err)
	}
	return res, err
}

// WithoutNil returns the options that are not nil: OpenTelemetry's functions panic on nil options.
func WithoutNil[O comparable](options []O) []O {
	var none O
	if !slices.Contains(options, none) {
		return options
	}
	return slices.DeleteFunc(slices.Clone(options), func(o O) bool { return o == none })
}
