package attrs_test

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/userevents/userevents-go/exporter/internal/attrs"
	"github.com/userevents/userevents-go/internal/attrjson"
	"github.com/userevents/userevents-go/internal/eventheader"
	"github.com/userevents/userevents-go/internal/testscale"
	"github.com/userevents/userevents-go/internal/truncationtest"
)

// deepValues returns values with that many levels, by the kind of each level.
func deepValues(levels int) map[string]attribute.Value {
	lists, maps, both := attribute.IntValue(1), attribute.IntValue(1), attribute.IntValue(1)
	for range levels {
		lists = attribute.SliceValue(lists)
		maps = attribute.MapValue(attribute.KeyValue{Key: "k", Value: maps})
	}
	for range levels / 2 {
		both = attribute.SliceValue(attribute.MapValue(attribute.KeyValue{Key: "k", Value: both}))
	}
	return map[string]attribute.Value{"lists": lists, "maps": maps, "both": both}
}

// TestDeepValues: the stack does not grow with the levels of a value. Above the runtime's maximum stack, the program
// would end.
func TestDeepValues(t *testing.T) {
	testscale.HostOnly(t)
	part := testscale.Count(1, 4)
	for name, v := range deepValues(1_000_000 / part) {
		t.Run(name, func(t *testing.T) {
			defer debug.SetMaxStack(debug.SetMaxStack(16 << 20 / part)) // of 1 GB, which a few more levels take
			kv := attribute.KeyValue{Key: "deep", Value: v}

			w := attrjson.Begin(nil, attrjson.NoLimit)
			attrs.WriteJSON(&w, &kv)
			object, _ := w.End(attrjson.KeepLast)
			assert.Equal(t, attrs.MaxDepth, levelsOf(string(object))-len("{"))
			assert.Contains(t, string(object), "null")
			truncationtest.Fit(object, 100)

			assert.Equal(t, attrs.MaxDepth, levelsOf(attrs.Text(v)))

			for _, depth := range []int{-1, 2 * attrs.MaxDepth, attrs.MaxDepth, 3} {
				out, changed := attrs.Nested(v, depth)
				assert.True(t, changed)
				out, changed = attrs.Shortened(out, 1)
				assert.False(t, changed)
				if depth < 0 || depth > attrs.MaxDepth {
					depth = attrs.MaxDepth
				}
				assert.Equal(t, depth, levelsOf(out.String()))
			}

			var e eventheader.Encoder
			e.Begin(nil, &eventheader.Header{Name: "e", Level: 4}, 4000)
			attrs.WriteField(&e, kv)
			_, err := e.End()
			assert.NoError(t, err)
		})
	}
}

// levelsOf returns the number of nested lists and maps, each of which has one value.
func levelsOf(json string) int { return strings.Count(json, "[") + strings.Count(json, "{") }

// TestDeepOrigin: the stack does not grow with the levels of attributes of a resource and of a scope, either.
func TestDeepOrigin(t *testing.T) {
	part := testscale.Count(1, 4)
	for name, v := range deepValues(100_000 / part) { // attribute.NewSet calls itself for each level
		t.Run(name, func(t *testing.T) {
			set := attribute.NewSet(attribute.KeyValue{Key: "deep", Value: v}, attribute.KeyValue{Key: "service.name", Value: v})
			res := resource.NewSchemaless(set.ToSlice()...)
			defer debug.SetMaxStack(debug.SetMaxStack(16 << 20 / part))
			d := attrs.NewDescriber([]attribute.Key{"deep"}, 4000).Describe(res)
			assert.Equal(t, attrs.MaxDepth, levelsOf(d.Service))
			assert.NotEmpty(t, d.JSON)
			w := attrjson.Begin(nil, attrjson.NoLimit)
			new(attrs.Origin).WriteScope(&w, &instrumentation.Scope{Attributes: set})
			object, _ := w.End(attrjson.KeepAll)
			assert.Equal(t, 2*attrs.MaxDepth, levelsOf(string(object))-len(`{{`))
		})
	}
}
