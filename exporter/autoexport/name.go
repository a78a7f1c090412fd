package autoexport

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/encode/typed"
)

// maxName is how long a name may be for the declarations of all events to fit the kernel's limit.
const maxName = 52

// eventName returns what the names of events begin with.
func eventName(ctx context.Context) string {
	service := serviceName(ctx)
	name := typed.FieldName(service)
	if len(name) > maxName {
		h := fnv.New32a()
		h.Write([]byte(service))
		name = fmt.Sprintf("%s_%08x", name[:maxName-len("_01234567")], h.Sum32())
	}
	return name
}

// serviceName returns the name of the service, as the SDK finds it.
func serviceName(ctx context.Context) string {
	env, err := resource.New(ctx, resource.WithFromEnv())
	if err != nil {
		otel.Handle(err)
	}
	if v, ok := env.Set().Value(attribute.Key("service.name")); ok && v.AsString() != "" {
		return v.AsString()
	}
	return "unknown_service:" + filepath.Base(os.Args[0])
}
