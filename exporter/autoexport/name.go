package autoexport

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/encode/typed"
)

// maxName is how long a name may be for the declarations of all events to fit the kernel's limit.
const maxName = 52

// EventName returns the beginning of the names of the events that [Setup] registers with the same options. A handler of package
// sloghandler that has it too has events beside those of spans:
//
//	events, err := sloghandler.New(autoexport.EventName(opts...), nil)
func EventName(opts ...Option) string {
	c, _ := newConfig(opts) // Setup returns the error
	return c.eventName
}

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

// serviceName returns service.name of a resource, or if it is empty what the SDK calls a service without a name.
func serviceName(r *resource.Resource) string {
	if v, ok := r.Set().Value("service.name"); ok && v.AsString() != "" {
		return v.AsString()
	}
	executable, err := os.Executable()
	if err != nil {
		executable = "go"
	}
	return "unknown_service:" + filepath.Base(executable)
}
