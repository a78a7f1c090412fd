package attrs

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/encode/typed"
	"github.com/userevents/userevents-go/internal/adapter/payload"
	"github.com/userevents/userevents-go/internal/attrjson"
)

var testScope = instrumentation.Scope{Name: "scope", Version: "v1", SchemaURL: "url", Attributes: attribute.NewSet(attribute.Int("a", 1))}

// TestOrigin: values without a field in the event become attributes.
func TestOrigin(t *testing.T) {
	res := resource.NewSchemaless(attribute.String("service.name", "shop\n"), attribute.String("host.name", "node1"))
	for _, fields := range [][]payload.Field{
		{ScopeName, ScopeVersion, ServiceName, Resource, payload.Attributes},
		{ScopeName, ServiceName, payload.Attributes},
		{payload.Attributes},
	} {
		schema := payload.MustSchema(fields...)
		o := NewOrigin(schema)
		var b payload.Builder
		b.Begin(schema, nil, 4000)
		o.Put(&b, &testScope, NewDescriber([]attribute.Key{"host.name"}, 4000).Describe(res))
		w := b.Object()
		o.WriteScope(&w, &testScope)
		WriteText(&w, "text", "")
		WriteCount(&w, "count", 0)
		WriteText(&w, "text", "x")
		WriteCount(&w, "count", 2)
		b.EndObject(schema.At[len(fields)-1], &w, attrjson.KeepAll)
		buf, truncated := b.End()
		assert.Zero(t, truncated)
		decoder, err := typed.NewDecoder(schema.Declaration("any"), nil)
		require.NoError(t, err)
		record, err := decoder.Decode(buf[payload.Base:])
		require.NoError(t, err)
		attributes := `{"user_events.scope.attributes":{"a":1},"otel.scope.version":"v1","otel.scope.schema_url":"url","text":"x","count":2}`
		if len(fields) == 5 {
			attributes = `{"user_events.scope.attributes":{"a":1},"otel.scope.schema_url":"url","text":"x","count":2}`
		}
		want := map[string]string{
			"scope_name": "scope", "scope_version": "v1", "service_name": `shop\n`, "resource": `{"host.name":"node1"}`, "attributes": attributes,
		}
		for name, v := range record.All() {
			assert.Equal(t, want[name], string(v.AppendTo(nil)), name)
		}
	}
}

// TestKnown: a shared origin is written like any other.
func TestKnown(t *testing.T) {
	schema := payload.MustSchema(ScopeName, ServiceName, Resource, payload.Attributes)
	o := NewOrigin(schema)
	build := func(write func(*payload.Builder, *attrjson.Writer)) []byte {
		var b payload.Builder
		b.Begin(schema, nil, 4000)
		var w attrjson.Writer
		write(&b, &w)
		b.EndObject(schema.At[3], &w, attrjson.KeepAll)
		buf, _ := b.End()
		return buf
	}
	for _, scope := range []instrumentation.Scope{{}, {Name: "scope\n\xff"}, {Name: "x", Version: "v1"}, testScope} {
		for _, res := range []*resource.Resource{
			resource.Empty(),
			resource.NewSchemaless(attribute.String("service.name", "shop\n")),
			resource.NewSchemaless(attribute.String("host.name", "node1")),
			resource.NewSchemaless(attribute.String("service.name", "shop"), attribute.String("host.name", "node1")),
		} {
			d := NewDescriber([]attribute.Key{"host.name"}, 4000).Describe(res)
			k := NewKnown(&scope, d, 4000)
			assert.Equal(t, build(func(b *payload.Builder, w *attrjson.Writer) {
				o.Put(b, &scope, d)
				*w = b.Object()
				o.WriteScope(w, &scope)
			}), build(func(b *payload.Builder, w *attrjson.Writer) {
				o.PutKnown(b, k)
				*w = b.Object()
				o.WriteKnownScope(w, k)
			}), "%v %v", scope, res)
		}
	}
	empty := NewDescriber(nil, 4000).Describe(resource.Empty())
	exactly := strings.Repeat("n", maxKnown-1) // and the NUL
	assert.NotNil(t, NewKnown(&instrumentation.Scope{Name: exactly}, empty, 4000))
	assert.Nil(t, NewKnown(&instrumentation.Scope{Name: exactly + "n"}, empty, 4000), "texts that may have to be cut")
	assert.Nil(t, NewKnown(&testScope, &Described{Dropped: 1}, 4000), "values that were dropped, which each record counts")
}
