package autoexport

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/encode/typed"
)

// maxName is how long a name may be for the declarations of all events to fit the kernel's limit.
const maxName = 52

// eventName returns the beginning of the names of a service's events.
func eventName(service string) string {
	name := typed.FieldName(service)
	if len(name) > maxName {
		h := fnv.New32a()
		h.Write([]byte(service))
		name = fmt.Sprintf("%s_%08x", name[:maxName-len("_01234567")], h.Sum32())
	}
	return name
}

// serviceName returns service.name of a resource, or if it has none what the SDK calls the service then.
func serviceName(r *resource.Resource) string {
	if v, ok := r.Set().Value("service.name"); ok && v.AsString() != "" {
		return v.AsString()
	}
	return "unknown_service:" + filepath.Base(os.Args[0])
}

// nameFromEnv returns the beginning of the names of events, as the environment names the service.
func nameFromEnv(ctx context.Context) string {
	env, err := resource.New(ctx, resource.WithFromEnv())
	if err != nil {
		otel.Handle(err)
	}
	return eventName(serviceName(env))
}
